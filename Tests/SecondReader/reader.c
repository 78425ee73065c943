/* reader.c (C11, OpenSSL 3, zlib): a second reader of Notelog stores, written from the format pages alone.
 *
 *   reader check STORE [--key HEX64 | --password TEXT] [--device HEX64]
 *   reader list STORE [--key ...]             equals `notelog dump --json STORE`, line by line
 *   reader archive FOLDER [--at REVISION] [--branch HEX8] [--key ...]
 *                                             equals `notelog restore` and then `dump --json`
 *
 * Numbers in parentheses are chapters of FORMAT.md. Every byte on disk is taken for hostile: each length is compared
 * with its limit and with what is left before it is used. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <zlib.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef struct { const u8 *p; size_t n; } Bytes;

enum { FIRST = 4608, COPY = 4096, HEADER = 512, FRAME = 40, TRAILER = 24, ENTRY = 24, FOOTENTRY = 32, FOOTPREFIX = 520 };
#define MAXSEG 4000000000u
#define MAXSEQ ((1ull << 48) - 1)
#define MAXFILE (1ull << 31)
#define MAXVALUE (16u << 20)

/* ---- 1: numbers, memory ------------------------------------------------------------------------------------------ */
static u16 r16(const u8 *p) { return (u16)(p[0] | p[1] << 8); }
static u32 r32(const u8 *p) { return (u32)p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24; }
static u64 r64(const u8 *p) { return (u64)r32(p) | (u64)r32(p + 4) << 32; }
static void w16(u8 *p, u16 v) { p[0] = (u8)v; p[1] = (u8)(v >> 8); }
static void w32(u8 *p, u32 v) { for (int i = 0; i < 4; i++) p[i] = (u8)(v >> (8 * i)); }
static void w64(u8 *p, u64 v) { for (int i = 0; i < 8; i++) p[i] = (u8)(v >> (8 * i)); }
static u64 align8(u64 v) { return (v + 7) & ~7ull; }
static bool zeros(const u8 *p, size_t n) { for (size_t i = 0; i < n; i++) if (p[i]) return false; return true; }
static u32 crc(const u8 *p, size_t n) { return (u32)crc32_z(0, p, n); }

static void fail(int code, const char *fmt, ...) {
    va_list a;
    va_start(a, fmt);
    fprintf(stderr, "reader: ");
    vfprintf(stderr, fmt, a);
    fprintf(stderr, "\n");
    va_end(a);
    fflush(stdout);
    _exit(code);
}
static void *need(void *p) { if (!p) fail(2, "no memory"); return p; }
static void *grow(void *p, size_t *cap, size_t n, size_t size) {
    if (n < *cap) return p;
    *cap = *cap ? *cap * 2 : 16;
    return need(reallocarray(p, *cap, size));
}

/* ---- data of a store ---------------------------------------------------------------------------------------------- */
typedef struct { u32 seg, off; } Pos;
static int pos_cmp(Pos a, Pos b) { return a.seg != b.seg ? (a.seg < b.seg ? -1 : 1) : a.off != b.off ? (a.off < b.off ? -1 : 1) : 0; }

typedef struct { u32 off, end, plen, payload_crc; u8 kind, flags; u16 coll; u64 seq; const u8 *id; bool ok, pad; } Frame;

typedef struct {
    bool valid; u16 kind; u32 number, live_count, live_crc, nsrc, times, kept; const u8 *raw, *store, *salt, *branch;
    u64 first; Pos floor; u32 src[50], keep[50];
} Head;

typedef struct {
    u32 number; char name[24]; Bytes b; bool unreadable, foreign;
    bool copy[2], other_version; Head h;
    bool trailer; u32 foot_off, foot_len, foot_crc;
    Frame *f; size_t nf; u32 limit;          /* frames that were looked for below limit */
    bool gone, uncut; u32 kept;              /* what a recovered segment says of it (12.1, line 2) */
    bool behind;                             /* behind the break */
    bool read, foot_ok, foot_whole;          /* counts; its footer checks; it is complete */
} Seg;

typedef struct { u32 number, length, foot_crc; size_t order; const u8 *salt; u8 raw[ENTRY]; } Live;

/* a version of a record: a frame, or what a footer says of one that is lost */
typedef struct { u8 id[16]; u64 seq; u32 seg, frame; u16 coll; u8 kind; bool lost, hidden; u32 off; } Ver;
typedef struct { u8 id[16]; u32 number, seg, frame; u64 seq; } Chunk;
typedef struct { u32 seg, from, to; } Hole;
typedef struct { u64 print; u32 seg, off; bool tomb; } IndexEntry;

typedef struct { Bytes name; u8 nkeys; const u8 *keys; } Choice;
typedef struct { u16 num, keyfield, source; u8 type, flags, state; u8 nkeys; const u8 *keys; Bytes first, name;
    u8 nchoice; Choice *choice; } Field;
typedef struct { u16 number; u32 rev; Bytes first, name, raw; u16 nf; Field *f; bool in_log, lost; } Schema;

typedef struct {
    Bytes b; bool sound; u64 generation; u32 rootgen; u16 nslots, nwrap, nnamed; u32 ndata;
    const u8 *wrap, *named, *data; u64 revisions; u8 sha[32], digest[32];
    bool opened, has_root; u8 root[32]; u8 (*wk)[32]; u8 *wkok; u8 (*dk)[32]; u8 *dkstate; bool tampered;
} Keyring;

typedef struct {
    const char *path; int dir;
    Seg *s; size_t ns, cs; u8 id[16]; bool have_id;
    size_t *log; size_t nlog; Pos floor, brk; bool any_before; int newest; bool forced; Pos forced_at;
    Live *live; size_t nlive, clive;
    bool damaged, unproven; u64 stale; bool torn; u64 torn_bytes; u64 frames, bytes;
    bool part_index, part_keyring, part_records, part_tags, part_structure;
    Ver *v; size_t nv, cv; Chunk *c; size_t nc, cc; Hole *hole; size_t nhole, chole;
    Ver *cur; size_t ncur; Ver *lost; size_t nlost, clost; u64 lost_no_id;
    bool index_there, index_ok, index_used; Bytes index; u32 ix_nseg; const u8 *ix_salt, *ix_key; Pos ix_cov; IndexEntry *ix; size_t nix; bool ix_damaged;
    Bytes schemas_file; bool schemas_bad, schemas_missing;
    Schema *sc; size_t nsc, csc; Schema *fsc; size_t nfsc, cfsc;
    Keyring *k; const u8 *device; u64 opened, locked, shredded, failed;
    char **finding; size_t nfind, cfind; bool checking;
} Store;

/* a finding, kept to be printed by check */
static void finding(Store *S, const char *part, bool damage, const char *fmt, ...) {
    char t[400], line[480];
    va_list a;
    va_start(a, fmt);
    vsnprintf(t, sizeof t, fmt, a);
    va_end(a);
    snprintf(line, sizeof line, "finding %s %s %s", part, damage ? "damage" : "note", t);
    if (damage) {
        S->damaged = true;
        if (!strcmp(part, "structure")) S->part_structure = true;
        if (!strcmp(part, "index")) S->part_index = true;
        if (!strcmp(part, "keyring")) S->part_keyring = true;
        if (!strcmp(part, "records")) S->part_records = true;
        if (!strcmp(part, "tags")) S->part_tags = true;
    }
    if (S->nfind > 20000) return;
    S->finding = grow(S->finding, &S->cfind, S->nfind, sizeof *S->finding);
    S->finding[S->nfind++] = need(strdup(line));
}

/* ---- files (3) ---------------------------------------------------------------------------------------------------- */
static void on_bus(int sig) {
    (void)sig;
    static const char m[] = "reader: the medium does not give bytes of a file, or it was cut meanwhile\n";
    ssize_t w = write(2, m, sizeof m - 1);
    (void)w;
    _exit(2);
}

/* maps a regular file; 0 is there, 1 missing, 2 refused or unreadable */
static int map_file(int dir, const char *name, u64 limit, Bytes *out) {
    static const u8 nothing[1];
    out->p = nothing;
    out->n = 0;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? 1 : 2;
    struct stat st;
    int r = 2;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (u64)st.st_size <= limit) {
        r = 0;
        if (st.st_size) {
            void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
            if (p == MAP_FAILED) r = 2;
            else { out->p = p; out->n = (size_t)st.st_size; }
        }
    }
    close(fd);
    return r;
}

/* ---- 4: headers, trailers ------------------------------------------------------------------------------------------ */
static bool header_sources(const u8 *p, Head *h) {
    for (u32 i = 0; i < 50; i++) {
        u32 n = r32(p + 80 + 8 * i), k = r32(p + 84 + 8 * i);
        if (i >= h->nsrc) { if (n || k) return false; continue; }
        if (n == 0 || n > MAXSEG || k > MAXFILE || (h->kind > 2 && k)) return false;
        h->src[i] = n;
        h->keep[i] = k;
    }
    return h->kind != 1 || h->nsrc == 0;
}

/* a copy of a header; *other is set where only another version or a read flag speaks against it */
static bool parse_header(const u8 *p, Head *h, bool *other) {
    static const u8 magic[8] = { 0x89, 'N', 'L', 'O', 'G', 0x0d, 0x0a, 0x1a };
    memset(h, 0, sizeof *h);
    if (memcmp(p, magic, 8) || r32(p + 508) != crc(p, 508)) return false;
    if (r16(p + 8) != 1 || r32(p + 12) != 0) { *other = true; return false; }
    h->kind = r16(p + 10); h->number = r32(p + 20); h->store = p + 24; h->salt = p + 40; h->first = r64(p + 48);
    h->floor = (Pos){ r32(p + 56), r32(p + 60) }; h->live_count = r32(p + 64); h->live_crc = r32(p + 68);
    h->nsrc = r32(p + 72); h->times = r32(p + 76); h->branch = p + 480; h->kept = r32(p + 496); h->raw = p;
    if (h->kind < 1 || h->kind > 4 || h->number == 0 || h->number > MAXSEG || h->first > MAXSEQ) return false;
    if (h->floor.seg > MAXSEG || h->floor.off > MAXFILE || h->nsrc > 50 || h->times > 1 || !zeros(p + 500, 8)) return false;
    if ((u64)h->live_count * ENTRY > (64u << 20) || (h->kind > 2 && (h->live_count || h->live_crc))) return false;
    if ((h->kept && !h->times) || (h->kind == 4 && !h->kept) || !header_sources(p, h)) return false;
    return h->valid = true;
}

static void parse_trailer(Seg *s) {
    static const u8 magic[8] = { 0x1a, 0x0a, 0x0d, 'G', 'O', 'L', 'N', 0x89 };
    size_t n = s->b.n;
    s->trailer = false;
    if (n < FIRST + FRAME + TRAILER) return;
    const u8 *t = s->b.p + n - TRAILER;
    if (memcmp(t + 16, magic, 8) || r32(t + 12) != crc(t, 12)) return;
    u32 off = r32(t), len = r32(t + 4);
    if (off < FIRST || off % 8 || (u64)off + len != n - TRAILER || len < FRAME) return;
    s->trailer = true;
    s->foot_off = off; s->foot_len = len; s->foot_crc = r32(t + 8);
}

/* the three copies, in their order; the first that is valid and has the file's number serves */
static void parse_headers(Seg *s) {
    Head h;
    bool other = false, last_other = false;
    parse_trailer(s);
    s->h.valid = false;
    for (int i = 0; i < 3; i++) {
        u64 at = i == 0 ? 0 : i == 1 ? COPY : (u64)s->foot_off + FRAME;
        if ((i == 2 && !s->trailer) || at + HEADER > s->b.n) continue;
        bool ok = parse_header(s->b.p + at, &h, i < 2 ? &other : &last_other) && h.number == s->number;
        if (i < 2) s->copy[i] = ok;
        if (ok && !s->h.valid) s->h = h;
    }
    for (int i = 0; i < 2; i++)
        if (s->copy[i] && memcmp(s->b.p + (i ? COPY : 0), s->h.raw, HEADER)) s->copy[i] = false;
    s->other_version = !s->h.valid && other;
    if (!s->h.valid) {
        bool any = s->b.n >= HEADER && parse_header(s->b.p, &h, &other);
        s->foreign = any;
        s->unreadable = !any;
    }
}

/* ---- 5: frames ------------------------------------------------------------------------------------------------------ */
static const u32 frame_limit[9] = { 0, (16u << 20) + 16, 0, 65664, 64u << 20, 128, 64u << 20, 16, 1u << 31 };

/* an envelope fills its length exactly */
static bool envelope_ok(const u8 *p, u32 room) {
    if (room < 4) return false;
    u32 len = r16(p), v = r16(p + 2), at = 4 + 16 * v;
    if (len > room || at > len) return false;
    for (int last = -1; at < len;) {
        if (len - at < 4) return false;
        int field = r16(p + at);
        u32 n = r16(p + at + 2);
        if (field <= last || n > len - at - 4) return false;
        last = field;
        at += 4 + n;
    }
    return true;
}

static bool live_change_ok(const u8 *p, u32 n) {
    if (n < 8) return false;
    u32 a = r32(p), r = r32(p + 4);
    if (8 + 24ull * a + 4ull * r != n) return false;
    for (u32 i = 0; i < a; i++) if (r32(p + 8 + 24 * i) > MAXSEG || r32(p + 8 + 24 * i) == 0) return false;
    for (u32 i = 0; i < r; i++) if (r32(p + 8 + 24 * a + 4 * i) > MAXSEG) return false;
    return true;
}

static bool payload_ok(const Seg *s, const Frame *f) {
    const u8 *p = s->b.p + f->off + FRAME;
    if (crc(p, f->plen) != f->payload_crc) return false;
    u32 room = f->plen;
    if (f->flags & 2) { if (room < 16) return false; room -= 16; }
    if ((f->flags & 1) && !envelope_ok(p, room)) return false;
    switch (f->kind) {
    case 4: return live_change_ok(p, f->plen);
    case 5: return r32(p + 8) <= MAXSEG;
    case 7: return f->plen == 16 && r32(p) <= MAXSEG;
    default: return true;
    }
}

/* the frame at an offset, if its header checks and it ends before the limit */
static bool frame_at(const Seg *s, u64 off, u64 limit, Frame *f) {
    if (off % 8 || limit > s->b.n || off + FRAME > limit) return false;
    const u8 *p = s->b.p + off;
    if (p[0] < 1 || p[0] > 8 || (p[1] & ~3)) return false;
    u8 at[12];
    memcpy(at, s->h.salt, 8);
    w32(at + 8, (u32)off);
    if (r32(p + 36) != (u32)crc32_z(crc(at, 12), p, 36)) return false;
    *f = (Frame){ .off = (u32)off, .kind = p[0], .flags = p[1], .coll = r16(p + 2), .plen = r32(p + 4), .seq = r64(p + 8),
                  .id = p + 16, .payload_crc = r32(p + 32) };
    if (f->coll == 65535 || f->plen > frame_limit[f->kind] || f->seq > MAXSEQ || (f->kind == 5 && f->plen < 24)) return false;
    u64 end = align8(off + FRAME + f->plen);
    if (end > limit) return false;
    f->end = (u32)end;
    f->ok = payload_ok(s, f);
    u64 tail = off + FRAME + f->plen;
    f->pad = zeros(s->b.p + tail, end - tail);
    return true;
}

/* all frames that check from 4608 to the limit, past anything broken */
static void scan(Seg *s, u64 limit) {
    size_t cap = 0;
    free(s->f);
    s->f = NULL;
    s->nf = 0;
    if (limit > s->b.n) limit = s->b.n;
    s->limit = (u32)limit;
    for (u64 at = FIRST; at + FRAME <= limit;) {
        Frame f;
        if (!frame_at(s, at, limit, &f)) { at += 8; continue; }
        s->f = grow(s->f, &cap, s->nf, sizeof *s->f);
        s->f[s->nf++] = f;
        at = f.end;
    }
}

static const u8 *payload(const Seg *s, const Frame *f) { return s->b.p + f->off + FRAME; }

/* the footer frame that the trailer names */
static bool footer_frame(const Seg *s, Frame *f) {
    if (!s->trailer || !frame_at(s, s->foot_off, s->b.n - TRAILER, f)) return false;
    return f->kind == 8 && f->ok && f->end == s->b.n - TRAILER && f->payload_crc == s->foot_crc;
}

/* 21.1: calls visit for each entry of a footer; false where it is to be refused */
typedef struct { u64 seq; u16 coll; u32 off, plen, elen; u8 kind; const u8 *id, *extra; } FootEntry;
static bool footer_entry(const u8 *p, u64 n, u64 *at, FootEntry *e) {
    if (n - *at < FOOTENTRY) return false;
    const u8 *q = p + *at;
    u64 a = r64(q);
    u32 b = r32(q + 8);
    *e = (FootEntry){ .seq = a & MAXSEQ, .coll = (u16)(a >> 48), .off = (b & 0xfffffff) * 8, .kind = (b >> 28) & 3,
                      .plen = r32(q + 12), .id = q + 16, .extra = q + 32 };
    if ((b >> 31) || e->kind < 1 || e->off < FIRST || e->plen > frame_limit[e->kind]) return false;
    u64 left = n - *at - FOOTENTRY;
    if (b >> 30 & 1) {
        if (e->kind == 2) return false;
        if (e->kind == 3) e->elen = 8;
        else {
            if (left < 2) return false;
            e->elen = r16(q + 32);
            if (e->elen < 4 || e->elen > e->plen) return false;
        }
        if (e->elen > left) return false;
    }
    *at += FOOTENTRY + e->elen;
    return true;
}
static bool footer_listed(const Seg *s, void (*visit)(void *, const FootEntry *), void *ctx) {
    Frame f;
    if (!footer_frame(s, &f) || f.plen < FOOTPREFIX) return false;
    const u8 *p = payload(s, &f);
    u32 count = r32(p + 512);
    if (r32(p + 516) != 0) return false;
    for (int pass = 0; pass < 2; pass++) {
        u64 at = FOOTPREFIX;
        for (u32 i = 0; i < count; i++) {
            FootEntry e;
            if (!footer_entry(p, f.plen, &at, &e) || (u64)e.off + FRAME + e.plen > s->foot_off) return false;
            if (pass) visit(ctx, &e);
        }
        if (at != f.plen) return false;
        if (!visit) break;
    }
    return true;
}

/* ---- 12.1, line 1: files ------------------------------------------------------------------------------------------- */
static bool segment_name(const char *n, u32 *number) {
    if (strlen(n) != 20 || strcmp(n + 12, ".journal")) return false;
    u64 v = 0;
    for (int i = 0; i < 12; i++) { if (!isdigit((u8)n[i])) return false; v = v * 10 + (u64)(n[i] - '0'); }
    if (v == 0 || v > MAXSEG) return false;
    *number = (u32)v;
    return true;
}

static int seg_cmp(const void *a, const void *b) {
    const Seg *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void add_segment(Store *S, u32 number, const char *name) {
    S->s = grow(S->s, &S->cs, S->ns, sizeof *S->s);
    Seg *s = &S->s[S->ns++];
    memset(s, 0, sizeof *s);
    s->number = number;
    snprintf(s->name, sizeof s->name, "%s", name);
}

static void read_folder(Store *S) {
    S->dir = open(S->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (S->dir < 0) fail(10, "there is no store at '%s'", S->path);
    DIR *d = fdopendir(dup(S->dir));
    if (!d) fail(2, "'%s' can't be read", S->path);
    for (struct dirent *e; (e = readdir(d));) {
        u32 n;
        if (!segment_name(e->d_name, &n)) continue;
        struct stat st;
        if (fstatat(S->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) fail(2, "%s is no regular file", e->d_name);
        add_segment(S, n, e->d_name);
    }
    closedir(d);
    if (S->ns) qsort(S->s, S->ns, sizeof *S->s, seg_cmp);
    for (size_t i = 0; i < S->ns; i++) {
        Seg *s = &S->s[i];
        if (map_file(S->dir, s->name, MAXFILE, &s->b)) s->unreadable = true;
        if (!s->unreadable) parse_headers(s);
        if (s->other_version) fail(2, "%s is of another version, or has a flag that is not known", s->name);
    }
}

/* the id that most headers name; of equally many the smallest, as a little-endian number */
static void choose_store(Store *S) {
    size_t best = 0;
    for (size_t i = 0; i < S->ns; i++) {
        if (!S->s[i].h.valid) continue;
        size_t n = 0;
        const u8 *id = S->s[i].h.store;
        for (size_t j = 0; j < S->ns; j++) n += S->s[j].h.valid && !memcmp(S->s[j].h.store, id, 16);
        bool smaller = false;
        for (int k = 15; k >= 0 && n == best; k--)
            if (id[k] != S->id[k]) { smaller = id[k] < S->id[k]; break; }
        if (n > best || smaller) { best = n; memcpy(S->id, id, 16); S->have_id = true; }
    }
    if (!S->have_id) fail(S->ns ? 1 : 10, "no segment in '%s' can be read", S->path);
    for (size_t i = 0; i < S->ns; i++) {
        Seg *s = &S->s[i];
        if (s->h.valid && memcmp(s->h.store, S->id, 16)) { s->foreign = true; s->h.valid = false; }
    }
}

static Seg *seg_by_number(Store *S, u32 n) {
    Seg key = { .number = n };
    return S->ns ? bsearch(&key, S->s, S->ns, sizeof *S->s, seg_cmp) : NULL;
}
static Seg *valid_seg(Store *S, u32 n) {
    Seg *s = seg_by_number(S, n);
    return s && s->h.valid ? s : NULL;
}
static bool is_log(const Seg *s) { return s->h.valid && (s->h.kind == 1 || s->h.kind == 2); }

/* ---- 12.1, line 2: the log ----------------------------------------------------------------------------------------- */
static void apply_recovered(Store *S, const Seg *r, bool last) {
    for (u32 k = 0; k < r->h.nsrc; k++) {
        Seg *t = seg_by_number(S, r->h.src[k]);
        if (!t || t->number >= r->number || !is_log(t)) continue;
        if (r->h.keep[k] == 0) { t->gone = true; continue; }
        Frame f;
        bool done = t->trailer && (!last || (t->foot_off == r->h.keep[k] && footer_frame(t, &f)));
        if (!done) { t->uncut = true; t->kept = r->h.keep[k]; }
        else t->uncut = false;
    }
}
static void find_log(Store *S) {
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < S->ns; i++) if (is_log(&S->s[i])) last = i;
    for (size_t i = 0; i < S->ns; i++)
        if (is_log(&S->s[i]) && S->s[i].h.kind == 2) apply_recovered(S, &S->s[i], i == last);
    S->log = need(calloc(S->ns + 1, sizeof *S->log));
    for (size_t i = 0; i < S->ns; i++) {
        if (!is_log(&S->s[i]) || S->s[i].gone) continue;
        S->log[S->nlog++] = i;
    }
}
/* where the units of a log segment end at the latest */
static u64 unit_limit(const Seg *s) {
    if (s->uncut) return s->kept < s->b.n ? s->kept : s->b.n;
    return s->trailer ? s->foot_off : s->b.n;
}

/* ---- 12.1, line 3: the floor --------------------------------------------------------------------------------------- */
static void witness(Store *S, Pos p) {
    if (p.seg && pos_cmp(p, S->floor) > 0) S->floor = p;
}
static void witness_lock(Store *S) {
    static const u8 magic[8] = { 0x89, 'N', 'C', 'L', 'E', 'S', 0x0d, 0x0a };
    Bytes b;
    if (map_file(S->dir, "lock", 1u << 20, &b) || b.n < 64) return;
    const u8 *p = b.p;
    if (memcmp(p, magic, 8) || memcmp(p + 8, S->id, 16) || !zeros(p + 40, 20) || r32(p + 60) != crc(p, 60)) return;
    if (r32(p + 24) <= MAXSEG) witness(S, (Pos){ r32(p + 24), r32(p + 28) });
}
static void witness_marks(Store *S, const Seg *s) {
    for (size_t i = 0; i < s->nf; i++) {
        const Frame *f = &s->f[i];
        if (!f->ok || (f->kind != 5 && f->kind != 7)) continue;
        const u8 *p = payload(s, f);
        Pos named = { r32(p + 8), r32(p + 12) };
        if (f->kind == 5 && pos_cmp(named, (Pos){ s->number, f->off }) <= 0) witness(S, named);   /* findings, 16 */
        if (f->kind == 7 && r32(p) == s->number && r32(p + 4) == f->off) witness(S, (Pos){ r32(p), r32(p + 4) });
    }
}
static void find_floor(Store *S) {
    for (size_t i = 0; i < S->ns; i++) if (S->s[i].h.valid) witness(S, S->s[i].h.floor);
    for (size_t i = S->nlog > 2 ? S->nlog - 2 : 0; i < S->nlog; i++) {
        Seg *s = &S->s[S->log[i]];
        scan(s, unit_limit(s));
        witness_marks(S, s);
    }
    if (S->dir >= 0) witness_lock(S);
    if (S->index_used) witness(S, S->ix_cov);
}

/* ---- 12.1, line 4: units from the floor to the break ---------------------------------------------------------------- */
typedef struct { bool known; u64 next; } Expect;

/* one unit at *off; moves *off behind it */
static bool read_unit(const Seg *s, u64 *off, Expect *x) {
    u64 at = *off, limit = unit_limit(s);
    u32 count = 0;
    u64 seq = 0;
    Frame f;
    for (;; at = f.end, count++) {
        if (!frame_at(s, at, limit, &f) || !f.ok || !f.pad) return false;
        const u8 *p = payload(s, &f);
        if (f.kind == 7) {
            if (count || r32(p) != s->number || r32(p + 4) != f.off) return false;
            *off = f.end;
            return true;
        }
        if (f.kind == 6 || f.kind == 8) return false;
        if (count && f.seq != seq) return false;
        seq = f.seq;
        if (f.kind == 5) break;
        if (f.kind == 3 && (f.plen < 8 || r32(p) >= 16777216 || r32(p + 4) > 1)) return false;
    }
    const u8 *p = payload(s, &f);
    if (!count || r32(p) != count || r32(p + 4) != *off) return false;
    if (s->h.kind == 1) {
        if (x->known && seq != x->next) return false;
        *x = (Expect){ true, seq + 1 };
    }
    *off = f.end;
    return true;
}

static u64 segment_end(const Seg *s) { return unit_limit(s); }

/* may the log go on in this segment, from its start? */
static bool starts_well(const Seg *s, const Expect *x, u64 *off) {
    Frame f;
    if (x->known && s->h.first != x->next) return false;
    if (!frame_at(s, FIRST, s->b.n, &f) || f.kind != 6 || !f.ok || !f.pad) return false;
    *off = f.end;
    Expect y = { true, s->h.first };
    u64 probe = f.end;
    if (s->h.kind == 1 && (!s->copy[0] || !s->copy[1]) && !read_unit(s, &probe, &y)) return false;
    return true;
}

/* the log from its i-th segment on, from an offset there, or from its start */
static void read_units(Store *S, size_t i, u64 off) {
    Expect x = { false, 0 };
    bool entered = off > FIRST;
    S->any_before = entered || i > 0;
    if (!entered) S->brk = i > 0 ? (Pos){ S->s[S->log[i - 1]].number, (u32)segment_end(&S->s[S->log[i - 1]]) } : (Pos){ 0, 0 };
    if (entered && S->s[S->log[i]].h.kind == 2) x = (Expect){ true, S->s[S->log[i]].h.first };
    for (; i < S->nlog; i++, off = FIRST) {
        Seg *s = &S->s[S->log[i]];
        if (off <= FIRST) {
            if (!starts_well(s, &x, &off)) return;
            x = (Expect){ s->h.kind == 1, s->h.first };
        }
        S->any_before = true;
        while (read_unit(s, &off, &x)) {}
        S->brk = (Pos){ s->number, (u32)off };
        Frame f;
        if (!footer_frame(s, &f) || s->foot_off != off || s->uncut) return;
        if (s->h.kind == 2) x = (Expect){ true, s->h.first };
    }
}
static void find_break(Store *S) {
    if (S->forced) { S->floor = S->brk = S->forced_at; S->any_before = true; return; }
    for (size_t i = 0; i < S->nlog; i++) {
        Seg *s = &S->s[S->log[i]];
        if (s->number == S->floor.seg) { read_units(S, i, S->floor.off); if (S->floor.off > FIRST && pos_cmp(S->brk, S->floor) < 0) S->brk = S->floor; return; }
        if (s->number > S->floor.seg) { read_units(S, i, FIRST); return; }
    }
    if (S->nlog) {
        Seg *s = &S->s[S->log[S->nlog - 1]];
        S->any_before = true;
        S->brk = (Pos){ s->number, (u32)segment_end(s) };
    }
}

/* ---- 31: the checkpoint ---------------------------------------------------------------------------------------------- */
static bool block_ok(Bytes b, u64 i, const u8 *salt) {
    u8 n[4];
    w32(n, (u32)i);
    const u8 *p = b.p + i * 4096;
    return r32(p + 4088) == (u32)crc32_z(crc(n, 4), p, 4088) && r32(p + 4092) == 0 && !memcmp(p + 4080, salt, 8);
}
static const u8 *index_segment(const Store *S, u32 i) { return S->index.p + (1 + i / 127) * 4096ull + i % 127 * 32; }

static bool index_entries(Store *S, u64 count, u64 base) {
    const u8 *h = S->index.p;
    u64 shard_n[256] = { 0 }, shard_t[256] = { 0 }, last = 0;
    S->ix = need(calloc(count + 1, sizeof *S->ix));
    for (u64 i = 0; i < count; i++) {
        const u8 *q = h + (base + i / 255) * 4096 + i % 255 * 16;
        u64 print = r64(q), place = r64(q + 8);
        u32 fl = (place >> 28) & 15;
        if (print < last || fl > 1 || place >> 32 == 0) return false;
        last = print;
        shard_n[print >> 56]++;
        shard_t[print >> 56] += fl & 1;
        S->ix[S->nix++] = (IndexEntry){ print, (u32)(place >> 32), (u32)(place & 0xfffffff) * 8, fl & 1 };
    }
    for (int i = 0; i < 256; i++) if (shard_n[i] != r32(h + 128 + 8 * i) || shard_t[i] != r32(h + 132 + 8 * i)) return false;
    return true;
}
static bool parse_index(Store *S) {
    static const u8 magic[8] = { 0x89, 'N', 'L', 'I', 'D', 'X', 0x0d, 0x0a };
    Bytes b = S->index;
    if (b.n < 4096 || b.n % 4096) return false;
    const u8 *p = b.p;
    if (memcmp(p, magic, 8) || r16(p + 8) != 1 || r16(p + 10) != 64 || !block_ok(b, 0, p + 4080)) return false;
    if (memcmp(p + 16, S->id, 16)) return false;
    u64 s = r32(p + 12), l = r32(p + 72), e = r64(p + 64), n = b.n / 4096;
    if (e > b.n) return false;
    u64 need_blocks = 1 + (s + 126) / 127 + (l + 169) / 170 + (e + 254) / 255;
    if (need_blocks > n) return false;
    for (u64 i = 1; i < need_blocks; i++) if (!block_ok(b, i, p + 4080)) return false;
    S->ix_nseg = (u32)s;
    S->ix_cov = (Pos){ r32(p + 48), r32(p + 52) };
    S->ix_salt = p + 56; S->ix_key = p + 32; S->ix_damaged = r32(p + 84) != 0;
    if (S->ix_cov.seg > MAXSEG) return false;
    return index_entries(S, e, need_blocks - (e + 254) / 255);
}
static void read_index(Store *S) {
    int r = S->dir < 0 ? 1 : map_file(S->dir, "index", 1ull << 40, &S->index);
    if (r == 1) return;
    S->index_there = true;
    S->index_ok = r == 0 && parse_index(S);
    S->index_used = S->index_ok;
    for (u32 i = 0; S->index_used && i < S->ix_nseg; i++) {
        const u8 *e = index_segment(S, i);
        Seg *t = valid_seg(S, r32(e));
        if (t && memcmp(t->h.salt, e + 8, 8)) S->index_used = false;
    }
    const Seg *rec = NULL;
    for (size_t i = 0; i < S->nlog; i++) if (S->s[S->log[i]].h.kind == 2) rec = &S->s[S->log[i]];
    for (u32 k = 0; rec && k < rec->h.nsrc; k++) {
        const Seg *t = seg_by_number(S, rec->h.src[k]);
        if (t && t->uncut) S->index_used = false;
    }
}
/* does the checkpoint cover a segment, which has this salt? */
static bool covers(Store *S, u32 number, const u8 *salt) {
    if (!S->index_used) return false;
    for (u32 i = 0; i < S->ix_nseg; i++) {
        const u8 *e = index_segment(S, i);
        if (r32(e) != number) continue;
        if (salt && !zeros(salt, 8) && memcmp(e + 8, salt, 8)) return false;
        return r16(e + 20) > 2 || number < S->ix_cov.seg;
    }
    return false;
}

/* does it know what was in a gap? also in the segment that was the head, before the covered position */
static bool covers_gap(Store *S, const Seg *s, u64 to) {
    bool head = S->index_used && s->number == S->ix_cov.seg && !memcmp(S->ix_salt, s->h.salt, 8) && to <= S->ix_cov.off;
    return head || covers(S, s->number, s->h.salt);
}

/* ---- 12.1, line 7: the live set ---------------------------------------------------------------------------------------- */
static int live_cmp(const void *a, const void *b) {
    const Live *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}
static Live live_of(const u8 *raw) {
    Live l = { .number = r32(raw), .length = r32(raw + 4), .foot_crc = r32(raw + 16) };
    memcpy(l.raw, raw, ENTRY);
    return l;
}
/* in order; of several entries of one number the one that came last stays */
static void live_sort(Store *S) {
    size_t n = 0;
    for (size_t i = 0; i < S->nlive; i++) S->live[i].order = i;
    if (S->nlive) qsort(S->live, S->nlive, sizeof *S->live, live_cmp);
    for (size_t i = 0; i < S->nlive; i++)
        if (i + 1 == S->nlive || S->live[i].number != S->live[i + 1].number) S->live[n++] = S->live[i];
    S->nlive = n;
    for (size_t i = 0; i < n; i++) S->live[i].salt = S->live[i].raw + 8;
}
static void live_put(Store *S, const u8 raw[ENTRY]) {
    S->live = grow(S->live, &S->clive, S->nlive, sizeof *S->live);
    S->live[S->nlive++] = live_of(raw);
}
static int u32_cmp(const void *a, const void *b) { u32 x = *(const u32 *)a, y = *(const u32 *)b; return x < y ? -1 : x > y; }
/* takes away the numbers of a list, which it puts in order */
static void live_drop(Store *S, u32 *list, size_t count) {
    size_t n = 0;
    if (!count) return;
    qsort(list, count, sizeof *list, u32_cmp);
    for (size_t i = 0; i < S->nlive; i++)
        if (!bsearch(&S->live[i].number, list, count, sizeof *list, u32_cmp)) S->live[n++] = S->live[i];
    S->nlive = n;
}
static u32 live_sum(Store *S) {
    u32 c = 0;
    live_sort(S);
    for (size_t i = 0; i < S->nlive; i++) c = (u32)crc32_z(c, S->live[i].raw, ENTRY);
    return c;
}
static void entry_of(const Seg *s, u8 raw[ENTRY]) {
    memset(raw, 0, ENTRY);
    w32(raw, s->number); w32(raw + 4, (u32)s->b.n); memcpy(raw + 8, s->h.salt, 8); w32(raw + 16, s->foot_crc);
}
static bool live_frame(Store *S, const Seg *s) {
    Frame f;
    if (!frame_at(s, FIRST, s->b.n, &f) || f.kind != 6 || !f.ok) return false;
    const u8 *p = payload(s, &f);
    if (f.plen != 24ull * s->h.live_count || crc(p, f.plen) != s->h.live_crc) return false;
    u32 last = 0;
    for (u32 i = 0; i < s->h.live_count; i++) {
        u32 n = r32(p + 24 * i);
        if (n <= last || n > MAXSEG || r32(p + 24 * i + 4) > MAXFILE || r32(p + 24 * i + 20)) return false;
        last = n;
    }
    S->nlive = 0;
    for (u32 i = 0; i < s->h.live_count; i++) live_put(S, p + 24 * i);
    return true;
}
static void live_changes(Store *S, const Seg *s, u64 limit) {
    for (size_t i = 0; i < s->nf && s->f[i].off < limit; i++) {
        const Frame *f = &s->f[i];
        if (f->kind != 4 || !f->ok) continue;
        const u8 *p = payload(s, f);
        u32 a = r32(p), r = r32(p + 4);
        for (u32 k = 0; k < a; k++) live_put(S, p + 8 + 24 * k);
        u32 *gone = need(calloc(r + 1, sizeof *gone));
        for (u32 k = 0; k < r; k++) gone[k] = r32(p + 8 + 24 * a + 4 * k);
        live_drop(S, gone, r);
        free(gone);
    }
}
static bool named_source(Store *S, u32 number) {
    for (size_t i = 0; i < S->ns; i++)
        for (u32 k = 0; S->s[i].h.valid && k < S->s[i].h.nsrc; k++)
            if (S->s[i].h.src[k] == number && S->s[i].h.keep[k] == 0) return true;
    return false;
}
static void live_inferred(Store *S, const Seg *newest) {
    S->nlive = 0;
    for (size_t i = 0; i < S->ns; i++) {
        const Seg *s = &S->s[i];
        if (!s->h.valid || s == newest || !s->trailer || s->gone || named_source(S, s->number)) continue;
        u8 raw[ENTRY];
        entry_of(s, raw);
        live_put(S, raw);
    }
}
static bool live_table(Store *S) {
    S->nlive = 0;
    if (!S->index_used) return false;
    for (u32 i = 0; i < S->ix_nseg; i++) {
        const u8 *e = index_segment(S, i);
        u8 raw[ENTRY];
        if (r32(e + 4) == 0) continue;          /* the head */
        memcpy(raw, e, 20);
        w32(raw + 20, 0);
        live_put(S, raw);
    }
    return true;
}
/* does the clean close mark at the segment's end speak of the live set as it is now? */
static bool mark_agrees(Store *S, const Seg *s, u64 limit) {
    const Frame *last = NULL;
    for (size_t i = 0; i < s->nf && s->f[i].off < limit; i++) last = &s->f[i];
    if (!last || last->kind != 7 || !last->ok) return false;
    const u8 *p = payload(s, last);
    u32 sum = live_sum(S);
    return r32(p + 8) == S->nlive && r32(p + 12) == sum;
}
/* the live set of a newest segment whose own does not check */
static void live_rebuilt(Store *S, const Seg *s, u64 limit) {
    finding(S, "structure", true, "liveSet segment=%u offset=%u", s->number, FIRST);
    for (int way = 0; way < 2; way++) {
        if (way == 0 ? !live_table(S) : (live_inferred(S, s), false)) continue;
        bool match = live_sum(S) == s->h.live_crc && S->nlive == s->h.live_count;
        live_changes(S, s, limit);
        if (match || mark_agrees(S, s, limit)) return;
    }
    S->unproven = true;
    S->stale = UINT64_MAX;
    finding(S, "structure", true, "liveSetLost segment=%u", s->number);
}
static bool in_live(Store *S, u32 n) {
    for (size_t i = 0; i < S->nlive; i++) if (S->live[i].number == n) return true;
    return false;
}
/* compacted segments that have taken the place of their sources though nothing says so */
static void live_outputs(Store *S) {
    for (size_t i = 0; i < S->ns; i++) {
        const Seg *s = &S->s[i];
        if (!s->h.valid || s->h.kind < 3 || !s->h.nsrc || !s->trailer || in_live(S, s->number)) continue;
        bool all = true, missing = false;
        for (u32 k = 0; k < s->h.nsrc; k++) {
            all = all && in_live(S, s->h.src[k]);
            missing = missing || !seg_by_number(S, s->h.src[k]);
        }
        if (!all || !missing) continue;
        u8 raw[ENTRY];
        entry_of(s, raw);
        live_put(S, raw);
        u32 gone[50];
        memcpy(gone, s->h.src, sizeof gone);
        live_drop(S, gone, s->h.nsrc);
        finding(S, "structure", true, "liveSet takes the place of its sources segment=%u", s->number);
    }
}
static void find_live(Store *S) {
    S->newest = -1;
    for (size_t i = 0; i < S->nlog; i++) {
        Seg *s = &S->s[S->log[i]];
        s->behind = !S->any_before || s->number > S->brk.seg;
        if (!s->behind) S->newest = (int)S->log[i];
    }
    if (S->newest < 0) {
        if (S->nlog) return;
        if (!live_table(S)) live_inferred(S, NULL);
        live_sort(S);
        S->unproven = true;
        S->stale = UINT64_MAX;
        finding(S, "structure", true, "noLog");
        return;
    }
    Seg *s = &S->s[S->newest];
    u64 limit = s->number == S->brk.seg ? S->brk.off : segment_end(s);
    if (!s->f) scan(s, segment_end(s));
    if (live_frame(S, s)) live_changes(S, s, limit);
    else live_rebuilt(S, s, limit);
    Frame f;
    if (!S->forced && s->trailer && limit >= s->foot_off && footer_frame(s, &f)) {
        u8 raw[ENTRY];
        entry_of(s, raw);
        live_put(S, raw);
    }
    live_outputs(S);
    live_sort(S);
}

/* ---- 12.3: losses --------------------------------------------------------------------------------------------------- */
/* the bound of an unnamed loss that has no neighbour: the lowest first sequence of a later log segment */
static u64 stale_bound(Store *S, u32 number) {
    u64 best = UINT64_MAX;
    for (size_t i = 0; i < S->ns; i++)
        if (is_log(&S->s[i]) && S->s[i].number > number && S->s[i].h.first < best) best = S->s[i].h.first;
    return best;
}
static void unnamed(Store *S, u64 bound) {
    S->unproven = true;
    if (bound > S->stale) S->stale = bound;
}
static void hole(Store *S, u32 seg, u64 from, u64 to) {
    S->hole = grow(S->hole, &S->chole, S->nhole, sizeof *S->hole);
    S->hole[S->nhole++] = (Hole){ seg, (u32)from, (u32)to };
}
static bool content(const Frame *f) { return f->kind >= 1 && f->kind <= 3; }
static bool transactional(const Frame *f) { return f->kind >= 1 && f->kind <= 4; }

/* is a gap a commit mark, or a clean close mark? then nothing is lost */
static const char *mark_gap(const Seg *s, u64 size, const Frame *prev, const Frame *next) {
    bool log = is_log(s);
    if (size == 64 && (log || s->h.kind == 4) && prev && transactional(prev) &&
        (!next || (next->kind != 5 && next->seq != prev->seq))) return "commitMark";
    if (size == 56 && log && (!prev || !transactional(prev)) && (!next || (next->kind != 5 && !transactional(next)))) return "lostClose";
    return NULL;
}
/* a gap; true where nothing is lost in it */
static bool gap(Store *S, Seg *s, u64 from, u64 to, const Frame *prev, const Frame *next, bool report) {
    if (is_log(s) && from == FIRST) {
        u64 took = align8(FRAME + 24ull * s->h.live_count);
        if (report) finding(S, "structure", true, "lostFrames segment=%u offset=%" PRIu64 " bytes=%" PRIu64, s->number, from, to - from);
        if (to - from <= took) return true;
        from += took;
    } else if (report) {
        const char *m = mark_gap(s, to - from, prev, next);
        finding(S, "structure", true, "%s segment=%u offset=%" PRIu64 " bytes=%" PRIu64, m && !strcmp(m, "commitMark") ? m : "lostFrames", s->number, from, to - from);
    }
    if (mark_gap(s, to - from, prev, next)) return true;
    if (!report) return false;
    hole(S, s->number, from, to);
    if (s->foot_whole || covers_gap(S, s, to)) return false;
    unnamed(S, is_log(s) && next ? next->seq + 1 : stale_bound(S, s->number));
    return false;
}
/* all gaps up to an end; with report false: the first offset that is lost for good, or the end */
static u64 gaps(Store *S, Seg *s, u64 end, bool report) {
    u64 at = FIRST;
    const Frame *prev = NULL;
    for (size_t i = 0; i <= s->nf; i++) {
        const Frame *f = i < s->nf && s->f[i].off < end && s->f[i].kind != 8 ? &s->f[i] : NULL;
        u64 to = f ? f->off : i < s->nf && s->f[i].kind == 8 && s->f[i].off < end ? s->f[i].off : end;
        if (to > at && !gap(S, s, at, to, prev, f, report) && !report) return at;
        if (!f) break;
        at = f->end;
        prev = f;
    }
    return end;
}

/* 21.1: the checksum of the footer that the frames make, up to a place */
static u32 made_footer(const Seg *s, u64 end) {
    u8 b[FOOTENTRY];
    u32 count = 0, c = crc(s->h.raw, HEADER);
    for (size_t i = 0; i < s->nf && s->f[i].off < end; i++) count += content(&s->f[i]);
    w32(b, count);
    w32(b + 4, 0);
    c = (u32)crc32_z(c, b, 8);
    for (size_t i = 0; i < s->nf && s->f[i].off < end; i++) {
        const Frame *f = &s->f[i];
        if (!content(f)) continue;
        const u8 *p = payload(s, f), *extra = p;
        u32 n = f->kind == 3 && f->plen >= 8 ? 8 : f->kind == 1 && (f->flags & 1) && f->ok ? r16(p) : 0;
        if (!f->ok) n = 0;
        w64(b, f->seq | (u64)f->coll << 48);
        w32(b + 8, f->off / 8 | (u32)f->kind << 28 | (n ? 1u << 30 : 0));
        w32(b + 12, f->plen);
        memcpy(b + 16, f->id, 16);
        c = (u32)crc32_z(crc32_z(c, b, FOOTENTRY), extra, n);
    }
    return c;
}

static void add_version(Store *S, const u8 *id, u64 seq, u16 coll, u8 kind, u32 seg, u32 frame, bool lost, u32 off) {
    S->v = grow(S->v, &S->cv, S->nv, sizeof *S->v);
    Ver *v = &S->v[S->nv++];
    *v = (Ver){ .seq = seq, .seg = seg, .frame = frame, .coll = coll, .kind = kind, .lost = lost, .off = off };
    memcpy(v->id, id, 16);
}

/* what a footer lists and no frame is */
typedef struct { Store *S; Seg *s; size_t i; } Listed;
static void missing_entry(void *ctx, const FootEntry *e) {
    Listed *l = ctx;
    Seg *s = l->s;
    while (l->i < s->nf && s->f[l->i].off < e->off) l->i++;
    if (l->i < s->nf && s->f[l->i].off == e->off) return;
    if (e->kind != 3) add_version(l->S, e->id, e->seq, e->coll, e->kind, (u32)(s - l->S->s), UINT32_MAX, true, e->off);
}

/* the frames of a segment that counts, up to an end (12.2) */
static void judge_marks(Store *S, const Seg *s, u64 end);
static void take_frames(Store *S, Seg *s, u64 end) {
    judge_marks(S, s, end);
    for (size_t i = 0; i < s->nf && s->f[i].off < end; i++) {
        const Frame *f = &s->f[i];
        u32 si = (u32)(s - S->s);
        if (f->kind == 3 && f->ok && f->plen >= 8) {
            S->c = grow(S->c, &S->cc, S->nc, sizeof *S->c);
            Chunk *c = &S->c[S->nc++];
            *c = (Chunk){ .number = r32(payload(s, f)), .seg = si, .frame = (u32)i, .seq = f->seq };
            memcpy(c->id, f->id, 16);
        } else if (f->kind == 1 || f->kind == 2) {
            add_version(S, f->id, f->seq, f->coll, f->kind, si, (u32)i, !f->ok, f->off);
        }
        if (!f->ok && f->kind != 6)
            finding(S, "structure", true, "%s segment=%u offset=%u bytes=%u", f->kind == 5 ? "commitMark" : "payload", s->number, f->off, f->end - f->off);
        if (!f->pad) finding(S, "structure", true, "notZero segment=%u offset=%u", s->number, f->off + FRAME + f->plen);
    }
}

/* marks below the floor that check and are wrong: verifying reports them (findings, 23) */
static void judge_marks(Store *S, const Seg *s, u64 end) {
    u32 count = 0, start = 0;
    bool whole = true;                                      /* no gap since the last mark */
    for (size_t i = 0, at = FIRST; i < s->nf && s->f[i].off < end; at = s->f[i].end, i++) {
        const Frame *f = &s->f[i];
        if (f->off != at) whole = false;
        if (transactional(f)) { if (!count++) start = f->off; continue; }
        const u8 *p = payload(s, f);
        if (f->kind == 5 && f->ok && whole && (r32(p) != count || (count && r32(p + 4) != start)))
            finding(S, "structure", true, "commitMark segment=%u offset=%u wrong", s->number, f->off);
        count = 0;
        whole = true;
    }
}

static void lost_segment(Store *S, const Live *l, const char *why) {
    finding(S, "structure", true, "%s segment=%u", why, l->number);
    if (S->index_used && (covers(S, l->number, l->salt) || l->number == S->ix_cov.seg)) hole(S, l->number, 0, MAXFILE);
    if (!covers(S, l->number, l->salt)) unnamed(S, stale_bound(S, l->number));
}

/* a footer that is there, and whether it lists exactly the frames */
static void judge_footer(Store *S, Seg *s) {
    Frame f;
    s->foot_ok = footer_frame(s, &f) && f.plen >= FOOTPREFIX;
    s->foot_whole = footer_listed(s, NULL, NULL);
    if (!s->foot_ok) finding(S, "structure", true, "footer segment=%u offset=%u", s->number, s->foot_off);
    else if (!s->foot_whole) finding(S, "structure", true, "footerIncomplete segment=%u offset=%u", s->number, s->foot_off);
    else {
        Listed l = { S, s, 0 };
        footer_listed(s, missing_entry, &l);
        if (made_footer(s, s->foot_off) != s->foot_crc) finding(S, "structure", true, "footerDiffers segment=%u", s->number);
        if (!f.pad) finding(S, "structure", true, "notZero segment=%u", s->number);
    }
}

/* one entry of the live set (12.2, 12.3) */
static void read_live(Store *S, const Live *l) {
    Seg *s = valid_seg(S, l->number);
    if (!s) { lost_segment(S, l, seg_by_number(S, l->number) ? "segmentUnreadable" : "segmentMissing"); return; }
    if (memcmp(s->h.salt, l->salt, 8)) { lost_segment(S, l, "segmentOther"); return; }
    s->read = true;
    if (s->uncut && S->newest >= 0 && S->s[S->newest].h.kind == 2) {
        scan(s, s->kept);
        gaps(S, s, s->kept, true);
        take_frames(S, s, s->kept);
        return;
    }
    if (s->b.n != l->length) {
        scan(s, s->b.n < l->length ? s->b.n : l->length);
        lost_segment(S, l, "length");
        gaps(S, s, s->limit, true);
        take_frames(S, s, s->limit);
        return;
    }
    if (!s->trailer) {
        scan(s, s->b.n);
        u64 end = gaps(S, s, s->b.n, false);
        for (size_t i = 0; i < s->nf; i++) if (s->f[i].kind == 8 && s->f[i].off < end) end = s->f[i].off;
        finding(S, "structure", true, "trailer segment=%u", s->number);
        bool made = made_footer(s, end) == l->foot_crc;
        for (size_t i = 0; !made && i < s->nf; i++) {         /* a footer frame that is there does as well: findings, 28 */
            const Frame *f = &s->f[i];
            if (f->kind != 8 || !f->ok || f->payload_crc != l->foot_crc) continue;
            made = true;
            end = f->off;
        }
        if (!made) { lost_segment(S, l, "footerLost"); gaps(S, s, s->b.n, true); take_frames(S, s, s->b.n); return; }
        gaps(S, s, end, true);
        take_frames(S, s, end);
        return;
    }
    scan(s, s->foot_off);
    if (s->foot_crc != l->foot_crc) lost_segment(S, l, "footerOther");
    judge_footer(S, s);
    gaps(S, s, s->foot_off, true);
    take_frames(S, s, s->foot_off);
}

static void read_head(Store *S) {
    if (S->newest < 0) return;
    Seg *s = &S->s[S->newest];
    if (in_live(S, s->number)) return;
    s->read = true;
    u64 end = s->number == S->brk.seg ? S->brk.off : segment_end(s);
    gaps(S, s, end, true);
    take_frames(S, s, end);
}

/* bytes behind the break that are not zero */
static void torn_tail(Store *S) {
    for (size_t i = 0; i < S->ns; i++) {
        Seg *s = &S->s[i];
        if (!is_log(s) || s->gone || S->forced) continue;
        u64 from = FIRST;
        if (S->any_before && s->number < S->brk.seg) continue;
        if (S->any_before && s->number == S->brk.seg) { from = S->brk.off; Frame f; if (footer_frame(s, &f) && s->foot_off == from) continue; }
        u64 end = s->b.n;
        while (end > from && !s->b.p[end - 1]) end--;
        if (end > from) { S->torn = true; S->torn_bytes += s->b.n - from; }
    }
}

/* the floor, the end of the log, copies of headers, bytes that must be zero */
static void judge_log(Store *S) {
    if (S->forced) return;
    if (!S->nlog) {
        if (S->floor.seg) hole(S, S->floor.seg, 0, MAXFILE);
        return;
    }
    Seg *last = &S->s[S->log[S->nlog - 1]], *fl = NULL;
    for (size_t i = 0; i < S->nlog; i++) if (S->s[S->log[i]].number == S->floor.seg) fl = &S->s[S->log[i]];
    if (S->floor.seg && !fl) {
        finding(S, "structure", true, "floorMissing segment=%u offset=%u", S->floor.seg, S->floor.off);
        hole(S, S->floor.seg, 0, MAXFILE);
        unnamed(S, stale_bound(S, S->floor.seg));
    } else if (fl && S->floor.off > FIRST && S->floor.off > segment_end(fl)) {
        finding(S, "structure", true, "truncated segment=%u offset=%" PRIu64, fl->number, segment_end(fl));
        unnamed(S, stale_bound(S, fl->number));
    }
    Frame f;
    if (last->h.kind == 1 && footer_frame(last, &f) && S->brk.seg == last->number && S->brk.off == last->foot_off) {
        finding(S, "structure", true, "logEnds segment=%u", last->number);
        unnamed(S, stale_bound(S, last->number));
    }
}
static void judge_copies(Store *S) {
    for (size_t i = 0; i < S->ns; i++) {
        Seg *s = &S->s[i];
        if (!s->h.valid || !s->read) continue;
        for (int k = 0; k < 2; k++)
            if (!s->copy[k]) finding(S, "structure", true, "headerCopy segment=%u offset=%d bytes=512", s->number, k ? COPY : 0);
        size_t n = s->b.n < COPY ? s->b.n : COPY;
        if (n > HEADER && !zeros(s->b.p + HEADER, n - HEADER)) finding(S, "structure", true, "notZero segment=%u offset=512 bytes=3584", s->number);
        Frame f;
        if (is_log(s) && &S->s[S->newest >= 0 ? S->newest : 0] != s && (!frame_at(s, FIRST, s->b.n, &f) || f.kind != 6 || !f.ok))
            finding(S, "structure", true, "liveSet segment=%u offset=%d", s->number, FIRST);
    }
}
static void count_frames(Store *S) {
    for (size_t i = 0; i < S->ns; i++) {
        Seg *s = &S->s[i];
        if (!s->read) continue;
        S->bytes += s->b.n;
        for (size_t k = 0; k < s->nf; k++) S->frames += s->number != S->brk.seg || s->f[k].off < S->brk.off;
    }
}

/* ---- 12.2, line 3: which version counts ---------------------------------------------------------------------------------- */
static u64 siphash13(const u8 key[16], const u8 *m, size_t n);
static int ver_cmp(const void *a, const void *b) {
    const Ver *x = a, *y = b;
    int c = memcmp(x->id, y->id, 16);
    if (c) return c;
    if (x->seq != y->seq) return x->seq > y->seq ? -1 : 1;
    if (x->lost != y->lost) return x->lost ? 1 : -1;   /* copies: one that checks serves */
    if (x->seg != y->seg) return x->seg < y->seg ? -1 : 1;
    return x->off > y->off ? -1 : x->off < y->off;
}
static int chunk_cmp(const void *a, const void *b) {
    const Chunk *x = a, *y = b;
    int c = memcmp(x->id, y->id, 16);
    if (c) return c;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->seq > y->seq ? -1 : x->seq < y->seq;
}
static void add_lost(Store *S, const Ver *v) {
    S->lost = grow(S->lost, &S->clost, S->nlost, sizeof *S->lost);
    S->lost[S->nlost++] = *v;
}
static int hole_cmp(const void *a, const void *b) {
    const Hole *x = a, *y = b;
    if (x->seg != y->seg) return x->seg < y->seg ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}
/* holes in order, those that overlap made one */
static void join_holes(Store *S) {
    size_t n = 0;
    if (S->nhole) qsort(S->hole, S->nhole, sizeof *S->hole, hole_cmp);
    for (size_t i = 0; i < S->nhole; i++) {
        Hole h = S->hole[i];
        if (n && S->hole[n - 1].seg == h.seg && h.from <= S->hole[n - 1].to) {
            if (h.to > S->hole[n - 1].to) S->hole[n - 1].to = h.to;
        } else S->hole[n++] = h;
    }
    S->nhole = n;
}
static bool in_hole(const Store *S, u32 seg, u32 off) {
    size_t lo = 0, hi = S->nhole;
    Hole key = { seg, off, 0 };
    while (lo < hi) { size_t m = (lo + hi) / 2; if (hole_cmp(&S->hole[m], &key) <= 0) lo = m + 1; else hi = m; }
    return lo && S->hole[lo - 1].seg == seg && off < S->hole[lo - 1].to;
}
static bool frame_there(const Seg *s, u32 off) {
    size_t lo = 0, hi = s ? s->nf : 0;
    while (lo < hi) { size_t m = (lo + hi) / 2; if (s->f[m].off < off) lo = m + 1; else hi = m; }
    return s && lo < s->nf && s->f[lo].off == off;
}
/* does the checkpoint know a frame? */
static bool index_knows(Store *S, const Seg *s, u32 off) {
    if (is_log(s)) return pos_cmp((Pos){ s->number, off }, S->ix_cov) < 0;
    for (u32 i = 0; i < S->ix_nseg; i++) if (r32(index_segment(S, i)) == s->number) return true;
    return false;
}
static bool live_or_newest(Store *S, u32 n) { return in_live(S, n) || n == S->floor.seg || (S->newest >= 0 && S->s[S->newest].number == n); }

/* what the checkpoint places in lost bytes is lost, whatever older version there is */
typedef struct { u64 print; size_t i; } Print;
static int print_cmp(const void *a, const void *b) {
    const Print *x = a, *y = b;
    return x->print < y->print ? -1 : x->print > y->print;
}
static void index_losses(Store *S, u8 *taken) {
    if (!S->index_used || !S->nhole) return;
    join_holes(S);
    Print *p = need(calloc(S->ncur + 1, sizeof *p));
    for (size_t i = 0; i < S->ncur; i++) p[i] = (Print){ siphash13(S->ix_key, S->cur[i].id, 16), i };
    qsort(p, S->ncur, sizeof *p, print_cmp);
    for (size_t e = 0; e < S->nix; e++) {
        IndexEntry *x = &S->ix[e];
        bool known = false;
        if (!in_hole(S, x->seg, x->off) || !live_or_newest(S, x->seg) || frame_there(valid_seg(S, x->seg), x->off)) continue;
        size_t lo = 0, hi = S->ncur;
        while (lo < hi) { size_t m = (lo + hi) / 2; if (p[m].print < x->print) lo = m + 1; else hi = m; }
        for (; lo < S->ncur && p[lo].print == x->print; lo++) {
            Ver *v = &S->cur[p[lo].i];
            if (v->lost || !index_knows(S, &S->s[v->seg], v->off)) known = true;
            else taken[p[lo].i] = 1;
        }
        if (!known && !x->tomb) S->lost_no_id++;
    }
    free(p);
}
static void choose_versions(Store *S) {
    if (S->nv) qsort(S->v, S->nv, sizeof *S->v, ver_cmp);
    if (S->nc) qsort(S->c, S->nc, sizeof *S->c, chunk_cmp);
    S->cur = need(calloc(S->nv + 1, sizeof *S->cur));
    for (size_t i = 0; i < S->nv; i++)
        if (!i || memcmp(S->v[i].id, S->v[i - 1].id, 16)) S->cur[S->ncur++] = S->v[i];
    u8 *taken = need(calloc(S->ncur + 1, 1));
    for (size_t i = 0; i < S->ncur; i++)
        if (S->cur[i].lost && S->cur[i].kind == 1) add_lost(S, &S->cur[i]);
    index_losses(S, taken);
    for (size_t i = 0; i < S->ncur; i++) S->cur[i].hidden = taken[i];
    free(taken);
}
/* SipHash-1-3 (31) */
#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))
#define SIP v0 += v1; v1 = ROTL(v1, 13) ^ v0; v0 = ROTL(v0, 32); v2 += v3; v3 = ROTL(v3, 16) ^ v2; \
            v0 += v3; v3 = ROTL(v3, 21) ^ v0; v2 += v1; v1 = ROTL(v1, 17) ^ v2; v2 = ROTL(v2, 32)
static u64 siphash13(const u8 key[16], const u8 *m, size_t n) {
    u64 k0 = r64(key), k1 = r64(key + 8), v0 = k0 ^ 0x736f6d6570736575ull, v1 = k1 ^ 0x646f72616e646f6dull,
        v2 = k0 ^ 0x6c7967656e657261ull, v3 = k1 ^ 0x7465646279746573ull, last = (u64)n << 56;
    for (; n >= 8; n -= 8, m += 8) { u64 w = r64(m); v3 ^= w; SIP; v0 ^= w; }
    for (size_t i = 0; i < n; i++) last |= (u64)m[i] << (8 * i);
    v3 ^= last; SIP; v0 ^= last;
    v2 ^= 0xff; SIP; SIP; SIP;
    return v0 ^ v1 ^ v2 ^ v3;
}


/* ---- 10.1, 11.1: ciphers ------------------------------------------------------------------------------------------------ */
typedef struct { EVP_CIPHER_CTX *c; } Aes;
static Aes aes_new(const u8 key[32]) {
    Aes a = { need(EVP_CIPHER_CTX_new()) };
    if (!EVP_EncryptInit_ex(a.c, EVP_aes_256_ecb(), NULL, key, NULL)) fail(2, "no AES");
    EVP_CIPHER_CTX_set_padding(a.c, 0);
    return a;
}
static void aes_block(Aes a, const u8 in[16], u8 out[16]) {
    int n = 0;
    u8 t[32];
    if (!EVP_EncryptUpdate(a.c, t, &n, in, 16) || n != 16) fail(2, "AES failed");
    memcpy(out, t, 16);
}
static void aes_free(Aes a) { EVP_CIPHER_CTX_free(a.c); }
static void xor16(u8 *a, const u8 *b) { for (int i = 0; i < 16; i++) a[i] ^= b[i]; }
static void times_x(u8 b[16]) {
    u8 top = b[0] >> 7;
    for (int i = 0; i < 15; i++) b[i] = (u8)(b[i] << 1 | b[i + 1] >> 7);
    b[15] = (u8)(b[15] << 1 ^ (top ? 0x87 : 0));
}
static void over_x(u8 b[16]) {
    u8 low = b[15] & 1;
    for (int i = 15; i > 0; i--) b[i] = (u8)(b[i] >> 1 | b[i - 1] << 7);
    b[0] >>= 1;
    if (low) { b[0] ^= 0x80; b[15] ^= 0x43; }
}
/* CMAC of whole blocks */
static void cmac(const u8 key[32], const u8 *m, size_t blocks, u8 out[16]) {
    Aes a = aes_new(key);
    u8 k1[16] = { 0 }, x[16] = { 0 };
    aes_block(a, k1, k1);
    times_x(k1);
    for (size_t i = 0; i < blocks; i++) {
        xor16(x, m + 16 * i);
        if (i + 1 == blocks) xor16(x, k1);
        aes_block(a, x, x);
    }
    memcpy(out, x, 16);
    aes_free(a);
}
/* opens AES-256-GCM under the derived key of XAES; out has room for n bytes */
static bool xaes_open(const u8 key[32], const u8 nonce[24], const u8 *ct, size_t n, const u8 tag[16], const u8 *aad, size_t naad, u8 *out) {
    u8 m[16] = { 0, 1, 0x58, 0 }, dk[32];
    memcpy(m + 4, nonce, 12);
    cmac(key, m, 1, dk);
    m[1] = 2;
    cmac(key, m, 1, dk + 16);
    EVP_CIPHER_CTX *c = need(EVP_CIPHER_CTX_new());
    int l = 0;
    u8 dummy[16], t[16];
    memcpy(t, tag, 16);
    bool ok = EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, dk, nonce + 12) == 1 && EVP_DecryptUpdate(c, NULL, &l, aad, (int)naad) == 1 &&
              (n == 0 || EVP_DecryptUpdate(c, out, &l, ct, (int)n) == 1) && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, 16, t) == 1 &&
              EVP_DecryptFinal_ex(c, dummy, &l) == 1;
    EVP_CIPHER_CTX_free(c);
    if (!ok && n) OPENSSL_cleanse(out, n);
    return ok;
}
/* 10.2: 1 opened, 0 another key, -1 altered */
static int unwrap(const u8 key[32], const u8 wrap[104], const u8 *aad, size_t naad, u8 out[32]) {
    u8 m[32] = "XCMT", com[32];
    memcpy(m + 4, wrap, 24);
    m[28] = 0; m[29] = 1; m[30] = 0; m[31] = 1;
    cmac(key, m, 2, com);
    m[31] = 2;
    cmac(key, m, 2, com + 16);
    if (CRYPTO_memcmp(com, wrap + 72, 32)) return 0;
    return xaes_open(key, wrap, wrap + 24, 32, wrap + 56, aad, naad, out) ? 1 : -1;
}
static void hmac(const u8 *key, size_t nk, const u8 *m, size_t n, u8 out[32]) {
    unsigned l = 32;
    if (!HMAC(EVP_sha256(), key, (int)nk, m, n, out, &l)) fail(2, "HMAC failed");
}
static void hkdf(const u8 store[16], const u8 *secret, size_t n, const void *info, size_t ni, u8 out[32]) {
    u8 prk[32], m[80];
    hmac(store, 16, secret, n, prk);
    if (ni > sizeof m - 1) fail(2, "info too long");
    memcpy(m, info, ni);
    m[ni] = 1;
    hmac(prk, 32, m, ni + 1, out);
}

/* ---- 10.3 to 10.9: the keyring -------------------------------------------------------------------------------------------- */
static bool slots_ok(Keyring *k, u64 *at) {
    u32 last = 0, pw = 0;
    const u8 *p = k->b.p;
    for (u32 i = 0; i < k->nslots; i++) {
        if (k->b.n - *at < 8) return false;
        const u8 *q = p + *at;
        u32 len = r16(q), id = r32(q + 4);
        if (len < 8 || len > 4096 || len > k->b.n - *at || (i && id <= last) || id >= r32(p + 60) || q[2] == 0) return false;
        last = id;
        if (q[2] <= 3) {
            if (len != 144 || r32(q + 12) != k->rootgen || !zeros(q + 16, 8)) return false;
            if (q[2] == 1 ? q[3] < 14 || q[3] > 18 : q[3] != 0 || !zeros(q + 24, 16)) return false;
            pw += q[2] == 1;
        }
        *at += len;
    }
    return pw <= 8;
}
static const u8 *named_key(const Keyring *k, u16 number) {
    for (u32 i = 0; i < k->nnamed; i++) if (r16(k->named + 112 * i) == number) return k->named + 112 * i;
    return NULL;
}
static bool tables_ok(Keyring *k) {
    const u8 *p = k->b.p;
    u32 evidence = 0;
    for (u32 i = 0; i < k->nwrap; i++) {
        const u8 *w = k->wrap + 128 * i;
        if (i && (r32(w) < r32(w - 128) || (r32(w) == r32(w - 128) && w[5] <= w[5 - 128]))) return false;
        if (r32(w) == 0 || r32(w) >= r16(p + 54) || r32(w + 8) != k->rootgen || w[4] > 7 || w[6] != 2 || w[7] || !zeros(w + 12, 12)) return false;
    }
    for (u32 i = 0; i < k->nnamed; i++) {
        const u8 *n = k->named + 112 * i;
        if ((i && r16(n) <= r16(n - 112)) || (n[3] & ~7) || ((n[3] & 4) && (n[3] & 3))) return false;
        if (r32(n + 4) >= r32(p + 44)) return false;
        evidence += (n[3] >> 2) & 1;
    }
    for (u32 i = 0; i < k->ndata; i++) {
        const u8 *d = k->data + 128 * i;
        if (i && (r32(d) < r32(d - 128) || (r32(d) == r32(d - 128) && r32(d + 12) <= r32(d - 128 + 12)))) return false;
        const u8 *n = named_key(k, r16(d + 6));
        if (r32(d) == 0 || r32(d) >= r32(p + 44) || d[5] != 2 || !zeros(d + 17, 7) || (d[16] & ~1)) return false;
        if (!n || n[2] != d[4] || (n[3] & 1) != (d[16] & 1)) return false;
    }
    return evidence <= 1;
}
static bool parse_keyring(const Store *S, Keyring *k, bool own) {
    Bytes b = k->b;
    const u8 *p = b.p;
    if (b.n < 72 + 64 || b.n > (64u << 20) || memcmp(p, "NLkeys\r\n", 8)) return false;
    SHA256(p, b.n - 32, k->digest);
    if (memcmp(k->digest, p + b.n - 32, 32) || r16(p + 8) != 1 || p[10] != 2 || p[11] || r32(p + 12) != b.n) return false;
    if (own && memcmp(p + 16, S->id, 16)) return false;
    SHA256(p, b.n, k->sha);
    k->generation = r64(p + 32); k->rootgen = r32(p + 40); k->nslots = r16(p + 48); k->nwrap = r16(p + 50); k->nnamed = r16(p + 52);
    k->ndata = r32(p + 56); k->revisions = r64(p + 64);
    if (k->nslots < 1 || k->nslots > 64 || k->nwrap > 256 || k->ndata > 131072 || k->rootgen < 1) return false;
    u64 at = 72;
    if (!slots_ok(k, &at)) return false;
    if (at + 128ull * k->nwrap + 112ull * k->nnamed + 128ull * k->ndata + 64 != b.n) return false;
    k->wrap = p + at;
    k->named = k->wrap + 128 * k->nwrap;
    k->data = k->named + 112 * k->nnamed;
    return k->sound = tables_ok(k);
}

typedef struct { bool given; u8 raw[32]; const char *password; u8 kind; u8 device[32]; bool have_device; } Credential;

/* what is known of a data key */
enum { LOCKED, OPEN, SHREDDED, NOFILE, ALTERED, BADFILE };

/* 10.10: the secret of an effaceable key */
static int effaceable(const Store *S, u16 number, u8 out[32]) {
    char name[24];
    Bytes b;
    snprintf(name, sizeof name, "%05u.effaceable", number);
    int r = S->dir < 0 ? 1 : map_file(S->dir, name, 4096, &b);
    if (r || b.n < 68) return r == 1 ? NOFILE : BADFILE;      /* shorter ones serve: findings, 19 */
    const u8 *p = b.p;
    if (memcmp(p, "NLefface", 8) || memcmp(p + 8, S->id, 16) || r16(p + 24) != number || !zeros(p + 26, 6) || r32(p + 64) != crc(p, 64) || !zeros(p + 68, b.n - 68)) return BADFILE;
    memcpy(out, p + 32, 32);
    return OPEN;
}
static void slot_key(const Store *S, const u8 *slot, const Credential *c, u8 out[32]) {
    u8 secret[32], salt[22] = "NL1/pw", info[8] = "NL1/kek";
    memcpy(secret, c->raw, 32);
    if (slot[2] == 1) {
        memcpy(salt + 6, slot + 24, 16);
        u64 n = 1ull << slot[3];
        if (!EVP_PBE_scrypt(c->password, strlen(c->password), salt, 22, n, 8, 1, 1ull << 30, secret, 32)) fail(2, "scrypt failed");
    }
    info[7] = slot[2];
    hkdf(S->id, secret, 32, info, 8, out);
}
/* 10.4: wrapping keys that the root, and a device's secret, open */
static void open_wrapping(const Store *S, Keyring *k, const Credential *c) {
    for (u32 i = 0; i < k->nwrap; i++) {
        const u8 *w = k->wrap + 128 * i;
        u8 parent[64], info[11] = "NL1/class", aad[8 + 24 + 16] = "NL1class", kek[32];
        size_t n = 32;
        if (w[5] < 1 || w[5] > 3 || w[4] == 7) continue;
        if (w[5] != 1 && !c->have_device) continue;
        memcpy(parent, w[5] == 2 ? c->device : k->root, 32);
        if (w[5] == 3) { memcpy(parent + 32, c->device, 32); n = 64; }
        info[9] = w[4];
        info[10] = w[5];
        hkdf(S->id, parent, n, info, 11, kek);
        memcpy(aad + 8, w, 24);
        memcpy(aad + 32, S->id, 16);
        int r = unwrap(kek, w + 24, aad, sizeof aad, k->wk[i]);
        if (r == 1) k->wkok[i] = 1;
        else if (w[5] == 1) k->tampered = true;
    }
}
static void open_data(const Store *S, Keyring *k) {
    for (u32 i = 0; i < k->ndata; i++) {
        const u8 *d = k->data + 128 * i, *n = named_key(k, r16(d + 6));
        u8 kek[64], aad[8 + 24 + 16] = "NL1dkey";
        if (n && (n[3] & 2)) { k->dkstate[i] = SHREDDED; continue; }
        for (u32 w = 0; w < k->nwrap; w++) {
            if (!k->wkok[w] || r32(k->wrap + 128 * w) != r32(d + 12)) continue;
            memcpy(kek, k->wk[w], 32);
            if (d[16] & 1) {
                int r = effaceable(S, r16(d + 6), kek + 32);
                if (r != OPEN) { k->dkstate[i] = (u8)r; break; }
                hkdf(S->id, kek, 64, "NL1/effaceable", 14, kek);
            }
            memcpy(aad + 8, d, 24);
            memcpy(aad + 32, S->id, 16);
            k->dkstate[i] = unwrap(kek, d + 24, aad, sizeof aad, k->dk[i]) == 1 ? OPEN : ALTERED;
            break;
        }
    }
}
/* 10.3: tries a credential; 1 opened, 0 wrong, -1 tampered */
static int unlock(const Store *S, Keyring *k, const Credential *c) {
    u8 key[32], got[32];
    u64 at = 72;
    k->wk = need(calloc(k->nwrap + 1u, 32));
    k->wkok = need(calloc(k->nwrap + 1u, 1));
    k->dk = need(calloc(k->ndata + 1, 32));
    k->dkstate = need(calloc(k->ndata + 1, 1));
    for (u32 i = 0; i < k->nslots; i++) {
        const u8 *q = k->b.p + at;
        at += r16(q);
        if (q[2] != c->kind) continue;
        u8 aad[8 + 40 + 16] = "NL1slot";
        memcpy(aad + 8, q, 40);
        memcpy(aad + 48, S->id, 16);
        slot_key(S, q, c, key);
        int r = unwrap(key, q + 40, aad, sizeof aad, got);
        if (r < 0) return -1;
        if (r == 0) continue;
        if (r32(q + 8) == 0) {
            u8 mk[32], mac[32];
            hkdf(S->id, got, 32, "NL1/keyring", 11, mk);
            hmac(mk, 32, k->b.p, k->b.n - 64, mac);
            if (CRYPTO_memcmp(mac, k->b.p + k->b.n - 64, 32)) return -1;
            memcpy(k->root, got, 32);
            k->has_root = true;
            open_wrapping(S, k, c);
            if (k->tampered) return -1;
        } else {
            for (u32 w = 0; w < k->nwrap; w++)
                if (r32(k->wrap + 128 * w) == r32(q + 8) && k->wrap[128 * w + 4] == 0) { memcpy(k->wk[w], got, 32); k->wkok[w] = 1; }
        }
        k->opened = true;
        open_data(S, k);
        return 1;
    }
    return 0;
}
/* 10.9: which of the two counts */
static void keyrings(Store *S, const Credential *c) {
    static Keyring k[2];
    static const char *name[2] = { "keyring", "keyring.copy" };
    int there[2];
    for (int i = 0; i < 2; i++) {
        there[i] = map_file(S->dir, name[i], 64u << 20, &k[i].b);
        if (!there[i]) parse_keyring(S, &k[i], true);
    }
    for (int i = 0; i < 2; i++)
        if (!k[i].sound) finding(S, "keyring", true, "%s is %s", name[i], there[i] == 1 ? "missing" : "unreadable");
    if (!k[0].sound && !k[1].sound) {
        if (c->given && !S->checking) fail(3, "no keyring can be read");
        return;
    }
    int first = !k[0].sound ? 1 : !k[1].sound ? 0 : k[1].generation > k[0].generation;
    S->k = &k[first];
    if (k[0].sound && k[1].sound && k[0].generation == k[1].generation && (k[0].b.n != k[1].b.n || memcmp(k[0].b.p, k[1].b.p, k[0].b.n)))
        finding(S, "keyring", true, "both of one generation, and differ");
    if (!c->given) return;
    int r = unlock(S, S->k, c);
    if (r == 1) return;
    Keyring *o = &k[!first];
    bool try = o->sound && (r < 0 || o->generation == S->k->generation);
    if (r < 0) finding(S, "keyring", true, "%s is tampered", name[first]);
    if (try && unlock(S, o, c) == 1) { S->k = o; return; }
    if (r < 0 && S->checking) return;
    fail(r < 0 ? 3 : 12, r < 0 ? "the keyring is tampered" : "the key or password is wrong");
}
/* the data key of a reference */
static int data_key(const Keyring *k, u32 ref, const u8 **key) {
    int best = LOCKED;
    if (!k || !k->opened) return LOCKED;
    for (u32 i = 0; i < k->ndata; i++) {
        if (r32(k->data + 128 * i) != ref) continue;
        if (k->dkstate[i] == OPEN) { *key = k->dk[i]; return OPEN; }
        if (k->dkstate[i] != LOCKED) best = k->dkstate[i];
    }
    return best;
}
static bool shredded_ref(const Keyring *k, u32 ref) {
    for (u32 i = 0; k && i < k->ndata; i++)
        if (r32(k->data + 128 * i) == ref) { const u8 *n = named_key(k, r16(k->data + 128 * i + 6)); return n && (n[3] & 2); }
    return false;
}
/* is a reference listed, or a newer one of the same named key as one that is? (INV-M3) */
static bool permitted(const Keyring *k, const u8 *refs, u32 n, u32 ref) {
    int number = -1;
    u32 gen = 0;
    for (u32 i = 0; i < n; i++) if (r32(refs + 4 * i) == ref) return true;
    for (u32 i = 0; k && i < k->ndata; i++)
        if (r32(k->data + 128 * i) == ref) { number = r16(k->data + 128 * i + 6); gen = r32(k->data + 128 * i + 8); }
    for (u32 i = 0; number >= 0 && i < k->ndata; i++) {
        const u8 *d = k->data + 128 * i;
        if (r16(d + 6) != number || r32(d + 8) >= gen) continue;
        for (u32 j = 0; j < n; j++) if (r32(refs + 4 * j) == r32(d)) return true;
    }
    return false;
}

/* ---- 9: schemas ---------------------------------------------------------------------------------------------------------------- */
typedef struct { const u8 *p; size_t n, at; bool bad; } In;
static const u8 *take(In *i, size_t n) {
    static const u8 none[65536];
    if (i->bad || n > i->n - i->at) { i->bad = true; return none; }
    i->at += n;
    return i->p + i->at - n;
}
static Bytes take_text(In *i, u8 least, u8 most) {
    u8 n = *take(i, 1);
    Bytes b = { take(i, n), n };
    if (n < least || n > most) i->bad = true;
    return b;
}
static bool utf8(const u8 *p, size_t n) {
    for (size_t i = 0; i < n;) {
        u8 c = p[i];
        int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
        if (more < 0 || (size_t)more >= n - i) return false;
        u32 v = more == 0 ? c : c & (0x3f >> more);
        for (int k = 1; k <= more; k++) { if ((p[i + (size_t)k] & 0xc0) != 0x80) return false; v = v << 6 | (p[i + (size_t)k] & 0x3f); }
        if ((more == 2 && (v < 0x800 || (v >= 0xd800 && v < 0xe000))) || (more == 3 && (v < 0x10000 || v > 0x10ffff))) return false;
        i += (size_t)more + 1;
    }
    return true;
}
static bool same(Bytes a, Bytes b) { return a.n == b.n && !memcmp(a.p, b.p, a.n); }
static bool parse_field(In *i, Field *f) {
    memset(f, 0, sizeof *f);
    f->num = r16(take(i, 2)); f->type = *take(i, 1); f->flags = *take(i, 1); f->state = *take(i, 1); f->nkeys = *take(i, 1);
    f->keys = take(i, 4u * f->nkeys);
    f->first = take_text(i, 1, 255);
    f->name = take_text(i, 1, 255);
    if (f->state & 8) {
        f->keyfield = r16(take(i, 2));
        f->nchoice = *take(i, 1);
        if (!f->nchoice || i->bad || f->nchoice * 6u > i->n - i->at) return false;
        f->choice = need(calloc(f->nchoice, sizeof *f->choice));
        for (u32 c = 0; c < f->nchoice && !i->bad; c++) {
            f->choice[c].name = take_text(i, 1, 63);
            f->choice[c].nkeys = *take(i, 1);
            if (!f->choice[c].nkeys) return false;
            f->choice[c].keys = take(i, 4u * f->choice[c].nkeys);
        }
    }
    if (f->state & 16) f->source = r16(take(i, 2));
    if (f->state & 64) {
        u8 rule = *take(i, 1);
        take_text(i, 1, 255);
        if (f->type != 8 || (f->flags & 1) || rule < 1 || rule > 3 || (rule == 2 && !(f->flags & 2))) return false;
    }
    bool sealed = f->flags & 1;
    if (i->bad || !f->num || f->num == 65535 || f->type < 1 || f->type > 10 || (f->flags & ~31) || (f->state & 128)) return false;
    if ((f->flags & 28 && !sealed) || (f->flags & 8 && !(f->flags & 4)) || (sealed && (f->state & 2))) return false;
    if (f->state & 8 ? !sealed || f->nkeys : sealed ? !f->nkeys : f->nkeys) return false;
    return utf8(f->first.p, f->first.n) && utf8(f->name.p, f->name.n);
}
static bool field_names_ok(const Schema *s) {
    for (u32 a = 0; a < s->nf; a++)
        for (u32 b = 0; b < a; b++) {
            if (same(s->f[a].first, s->f[b].first)) return false;
            if (!(s->f[a].state & 1) && !(s->f[b].state & 1) && same(s->f[a].name, s->f[b].name)) return false;
        }
    for (u32 a = 0; a < s->nf; a++) {
        if (a && s->f[a].num <= s->f[a - 1].num) return false;
        if (!(s->f[a].state & 8)) continue;
        const Field *k = NULL;
        for (u32 b = 0; b < s->nf; b++) if (s->f[b].num == s->f[a].keyfield) k = &s->f[b];
        if (!k || k->type != 5 || (k->flags & 3) || ((k->state & 1) && !(s->f[a].state & 1))) return false;
    }
    return true;
}
/* a schema and its MAC */
static bool parse_schema(Bytes raw, Schema *s) {
    In i = { raw.p, raw.n, 0, false };
    memset(s, 0, sizeof *s);
    s->raw = raw;
    u8 layout = *take(&i, 1), rules = *take(&i, 1);
    s->number = r16(take(&i, 2)); s->rev = r32(take(&i, 4));
    s->first = take_text(&i, 1, 255);
    s->name = take_text(&i, 1, 255);
    s->nf = r16(take(&i, 2));
    if (i.bad || layout != 1 || !s->number || s->number > 65534 || s->nf > 4096 || (u64)s->nf * 10 > raw.n) return false;
    s->f = need(calloc(s->nf + 1u, sizeof *s->f));
    for (u32 k = 0; k < s->nf; k++) if (!parse_field(&i, &s->f[k])) return false;
    for (u32 k = 0; k < rules; k++) {
        u8 n = *take(&i, 1);
        if (n < 1 || n > 2) return false;
        take(&i, 2u * n);
    }
    take(&i, 32);
    return !i.bad && i.at == raw.n && utf8(s->name.p, s->name.n) && utf8(s->first.p, s->first.n) && field_names_ok(s);
}
static void put_schema(Schema **list, size_t *n, size_t *cap, const Schema *s) {
    *list = grow(*list, cap, *n, sizeof **list);
    (*list)[(*n)++] = *s;
}
static Schema *schema_in(Schema *l, size_t n, u16 number) {
    for (size_t i = 0; i < n; i++) if (l[i].number == number) return &l[i];
    return NULL;
}
/* 21.3: the file `schemas` */
static bool parse_schemas_file(Store *S) {
    Bytes b = S->schemas_file;
    if (b.n < 44 || memcmp(b.p, "NLschm\r\n", 8) || r16(b.p + 8) != 1 || r16(b.p + 10) || r32(b.p + 12) != b.n || memcmp(b.p + 16, S->id, 16)) return false;
    if (r32(b.p + 36) || crc(b.p, b.n - 4) != r32(b.p + b.n - 4)) return false;
    In i = { b.p, b.n - 4, 40, false };
    u32 count = r32(b.p + 32);
    u16 last = 0;
    for (u32 k = 0; k < count; k++) {
        u32 n = r32(take(&i, 4));
        if (i.bad || n > i.n - i.at) return false;
        Schema s;
        Bytes raw = { take(&i, n), n };
        if (!parse_schema(raw, &s) || s.number <= last) return false;
        last = s.number;
        put_schema(&S->fsc, &S->nfsc, &S->cfsc, &s);
    }
    return i.at == i.n;
}

/* ---- 7: bodies ------------------------------------------------------------------------------------------------------------------ */
typedef struct { u16 num; u8 type, flags; u32 key; Bytes v; } Value;
typedef struct { Value *v; u16 n; Bytes env, body; const u8 *seal; } Body;
static int fixed_size(u8 type) { return type == 1 ? 1 : type == 8 ? 16 : type == 2 || type == 3 || type == 4 || type == 7 ? 8 : -1; }

/* INV-D3 to INV-D5 */
static bool value_ok(const Value *v) {
    u8 f = v->flags;
    bool sealed = f & 1, opt = f & 2;
    if (v->type < 1 || v->type > 10 || (f & ~31) || (f & 28 && !sealed) || (f & 8 && !(f & 4)) || sealed != (v->key != 0)) return false;
    if (f & 16) return (v->type == 5 || v->type == 6 || v->type == 9 || v->type == 10) && v->v.n == 64;
    size_t n = v->v.n;
    if (sealed) { if (n < 40) return false; n -= 40; }
    if (f & 4) return n >= 32;
    if (opt) { if (n == 1) return true; if (!n) return false; n--; }
    int want = fixed_size(v->type);
    return want < 0 || n == (size_t)want;
}
static bool split_record(const Seg *s, const Frame *f, Body *b) {
    Bytes p = { payload(s, f), f->plen };
    memset(b, 0, sizeof *b);
    if (f->flags & 2) { p.n -= 16; b->seal = p.p + p.n; }
    if (f->flags & 1) { b->env = (Bytes){ p.p, r16(p.p) }; p.p += b->env.n; p.n -= b->env.n; }
    b->body = p;
    return true;
}
static bool parse_body(Body *b) {
    Bytes p = b->body;
    if (p.n < 4 || p.p[0] != 1 || p.p[1]) return false;
    b->n = r16(p.p + 2);
    u64 at = 4 + 12ull * b->n;
    if (b->n > 4096 || at > p.n) return false;
    b->v = need(calloc(b->n + 1u, sizeof *b->v));
    for (u32 i = 0; i < b->n; i++) {
        const u8 *d = p.p + 4 + 12 * i;
        u32 n = r32(d + 8);
        if (n > p.n - at || r16(d) == 0 || (i && r16(d) <= b->v[i - 1].num)) return false;
        b->v[i] = (Value){ r16(d), d[2], d[3], r32(d + 4), { p.p + at, n } };
        if (!value_ok(&b->v[i])) return false;
        at += n;
    }
    return at == p.n;
}
static void free_body(Body *b) { free(b->v); b->v = NULL; }

/* 9.1: the schema in a record of collection 0 */
static bool schema_of(const Store *S, const Ver *v, Schema *s) {
    const Seg *g = &S->s[v->seg];
    Body b;
    if (v->lost || v->hidden || !split_record(g, &g->f[v->frame], &b)) return false;
    bool ok = parse_body(&b) && b.n == 1 && b.v[0].num == 1 && b.v[0].type == 6 && b.v[0].flags == 0 && parse_schema(b.v[0].v, s) &&
              s->number == r16(v->id);
    free_body(&b);
    return ok;
}
static bool is_state(const u8 *id) { return id[0] == 0xff && id[1] == 0xff && zeros(id + 2, 14); }
static bool stale(const Store *S, u64 seq) { return S->unproven && (S->stale == UINT64_MAX || seq < S->stale); }

static void schema_record(Store *S, const Ver *v) {
    Schema s;
    u16 number = r16(v->id);
    bool zero_id = zeros(v->id + 2, 14) && number && number < 65535;
    Schema *file = schema_in(S->fsc, S->nfsc, number);
    if (zero_id && schema_of(S, v, &s)) {
        s.in_log = true;
        bool newer = file && stale(S, v->seq) && file->rev > s.rev;
        if (newer) { s = *file; s.in_log = false; }
        else if (S->dir >= 0 && S->schemas_file.n && !S->schemas_bad && (!file || file->rev < s.rev || (file->rev == s.rev && !same(file->raw, s.raw))))
            finding(S, "records", true, "schemas and the log disagree");
        put_schema(&S->sc, &S->nsc, &S->csc, &s);
        return;
    }
    if (!zero_id) { finding(S, "records", true, "a record of collection 0 is no schema"); return; }
    finding(S, "records", true, "schema of collection %u damaged in the log%s", number, file ? ", schemas serves" : "");
    if (file) put_schema(&S->sc, &S->nsc, &S->csc, file);
}
static int schema_cmp(const void *a, const void *b) { return ((const Schema *)a)->number - ((const Schema *)b)->number; }
/* 9.3: which schema of each collection counts */
static void find_schemas(Store *S) {
    int r = S->dir < 0 ? 1 : map_file(S->dir, "schemas", 64u << 20, &S->schemas_file);
    bool any = false;
    if (r == 0 && !parse_schemas_file(S)) { S->schemas_bad = true; S->nfsc = 0; }
    if (r == 2) S->schemas_bad = true;
    for (size_t i = 0; i < S->ncur; i++) {
        const Ver *v = &S->cur[i];
        bool zero = zeros(v->id + 2, 14);
        if ((v->coll != 0 && !zero) || v->kind != 1 || is_state(v->id)) continue;
        any = true;
        schema_record(S, v);
    }
    for (size_t i = 0; i < S->nfsc; i++)
        if (!schema_in(S->sc, S->nsc, S->fsc[i].number)) {
            if (S->lost_no_id) finding(S, "records", true, "schema of collection %u damaged in the log, schemas serves", S->fsc[i].number);
            put_schema(&S->sc, &S->nsc, &S->csc, &S->fsc[i]);
        }
    if (S->schemas_bad) finding(S, "records", true, "schemas is unreadable");
    else if (r == 1 && any && S->dir >= 0) finding(S, "records", true, "schemas is missing");
    if (S->nsc) qsort(S->sc, S->nsc, sizeof *S->sc, schema_cmp);
}
static void schemas_digest(const Store *S, bool only_log, u8 out[32]) {
    EVP_MD_CTX *c = need(EVP_MD_CTX_new());
    u8 h[32];
    EVP_DigestInit_ex(c, EVP_sha256(), NULL);
    for (size_t i = 0; i < S->nsc; i++) {
        if (only_log && !S->sc[i].in_log) continue;
        SHA256(S->sc[i].raw.p, S->sc[i].raw.n, h);
        EVP_DigestUpdate(c, h, 32);
    }
    EVP_DigestFinal_ex(c, out, NULL);
    EVP_MD_CTX_free(c);
}
/* INV-M2, INV-M5 */
static bool schemas_authentic(const Store *S, const Keyring *k) {
    u8 key[32], mac[32], all[32];
    if (!k || !k->has_root) return true;
    hkdf(S->id, k->root, 32, "NL1/schema", 10, key);
    bool ok = true;
    for (size_t i = 0; i < S->nsc; i++) {
        Bytes r = S->sc[i].raw;
        hmac(key, 32, r.p, r.n - 32, mac);
        ok = ok && !CRYPTO_memcmp(mac, r.p + r.n - 32, 32);
    }
    if (ok) return true;
    for (u32 i = 0; i < k->nwrap; i++) {
        const u8 *w = k->wrap + 128 * i;
        if (w[4] != 7 || w[5] != 1) continue;
        u8 info[11] = "NL1/class", aad[48] = "NL1class", kek[32], former[32];
        info[9] = 7; info[10] = 1;
        hkdf(S->id, k->root, 32, info, 11, kek);
        memcpy(aad + 8, w, 24);
        memcpy(aad + 32, S->id, 16);
        schemas_digest(S, false, all);
        if (unwrap(kek, w + 24, aad, 48, former) == 1 && !memcmp(former, all, 32)) return true;
    }
    return false;
}

/* ---- 7.3, 8, 11: opening values ------------------------------------------------------------------------------------------------------ */
enum { V_OK, V_NONE, V_LOCKED, V_SHREDDED, V_NOKEY, V_TAMPERED, V_BAD, V_BADKEY, V_HUGE };
static void name_hash(Bytes coll, Bytes field, u8 out[16]) {
    u8 m[8 + 4 + 255 + 4 + 255] = "NL1name", h[32];
    size_t n = 8;
    w32(m + n, (u32)coll.n); memcpy(m + n + 4, coll.p, coll.n); n += 4 + coll.n;
    w32(m + n, (u32)field.n); memcpy(m + n + 4, field.p, field.n); n += 4 + field.n;
    SHA256(m, n, h);
    memcpy(out, h, 16);
}
static void additional(const Store *S, const char *domain, const Value *v, const u8 *id, const Schema *c, const Field *f, u8 a[96]) {
    memset(a, 0, 96);
    memcpy(a, domain, 8);
    a[8] = 1; a[9] = v->type; a[10] = v->flags;
    w32(a + 12, v->key);
    memcpy(a + 16, S->id, 16);
    memcpy(a + 32, id, 16);
    name_hash(c->first, f->first, a + 48);
}
static const Chunk *find_chunk(const Store *S, const u8 *id, u32 number) {
    Chunk key = { .number = number, .seq = UINT64_MAX };
    memcpy(key.id, id, 16);
    size_t lo = 0, hi = S->nc;
    while (lo < hi) { size_t m = (lo + hi) / 2; if (chunk_cmp(&S->c[m], &key) < 0) lo = m + 1; else hi = m; }
    return lo < S->nc && !memcmp(S->c[lo].id, id, 16) && S->c[lo].number == number ? &S->c[lo] : NULL;
}
/* 8: the plaintext of a large value; allocates no more than its chunks have */
static int open_large(const Store *S, const Value *v, const u8 *key, u8 aad[96], Bytes *out, u8 **mem) {
    const u8 *p = v->v.p;
    u64 len = r64(p + 16), n = (len + 65535) / 65536;
    u8 none[1];
    memcpy(aad, "NL1chunk", 8);
    memcpy(aad + 64, p, 16);
    w64(aad + 80, len);
    aad[88] = 2;
    if (!xaes_open(key, p + 24, p, 0, p + 48, aad, 96, none)) return V_TAMPERED;
    if (zeros(p, 16) || len <= 65536 || len > 1ull << 40) return V_BAD;
    for (u64 i = 0; i < n; i++) {
        const Chunk *c = find_chunk(S, p, (u32)i);
        u64 want = i + 1 < n ? 65536 : len - 65536 * i;
        if (!c || S->s[c->seg].f[c->frame].plen != want + 48) return V_BAD;
    }
    bool whole = len <= MAXVALUE + 64;
    *mem = need(malloc(whole ? len : 65536));
    for (u64 i = 0; i < n; i++) {
        const Chunk *c = find_chunk(S, p, (u32)i);
        const Seg *s = &S->s[c->seg];
        const u8 *q = payload(s, &s->f[c->frame]) + 8;
        size_t want = i + 1 < n ? 65536 : len - 65536 * i;
        w64(aad + 80, i);
        aad[88] = i + 1 == n;
        if (!xaes_open(key, q, q + 24, want, q + 24 + want, aad, 96, *mem + (whole ? 65536 * i : 0))) return V_BAD;
    }
    *out = (Bytes){ *mem, len };
    return whole ? V_OK : V_HUGE;
}
static int unpad(Bytes *b) {
    size_t n = b->n;
    while (n && !b->p[n - 1]) n--;
    if (!n || b->p[n - 1] != 0x80) return V_BAD;
    b->n = n - 1;
    return V_OK;
}
static int decompress(Bytes *b, u8 **mem) {
    if (b->n < 4) return V_BAD;
    u32 len = r32(b->p);
    if (len > MAXVALUE) return V_BAD;
    if (b->n - 4 < len / 1100) return V_BAD;      /* deflate makes no more of so few bytes */
    u8 *o = need(malloc((size_t)len + 1));
    z_stream z = { .next_in = (u8 *)(uintptr_t)(b->p + 4), .avail_in = (uInt)(b->n - 4), .next_out = o, .avail_out = len + 1 };
    bool ok = inflateInit(&z) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == len && z.avail_in == 0;
    inflateEnd(&z);
    free(*mem);
    *mem = o;
    *b = (Bytes){ o, len };
    return ok ? V_OK : V_BAD;
}
/* RFC 8259, without recursion */
static size_t json_space(const u8 *p, size_t n, size_t i) { while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == '\n' || p[i] == '\r')) i++; return i; }
static size_t json_string(const u8 *p, size_t n, size_t i) {
    if (i >= n || p[i] != '"') return SIZE_MAX;
    for (i++; i < n && p[i] != '"'; i++) {
        if (p[i] < 0x20) return SIZE_MAX;
        if (p[i] != '\\') continue;
        if (++i >= n || !strchr("\"\\/bfnrtu", p[i]) || !p[i]) return SIZE_MAX;
        if (p[i] == 'u') for (int k = 0; k < 4; k++) if (++i >= n || !isxdigit(p[i])) return SIZE_MAX;
    }
    return i < n ? i + 1 : SIZE_MAX;
}
static size_t json_digits(const u8 *p, size_t n, size_t i) { while (i < n && isdigit(p[i])) i++; return i; }
static size_t json_number(const u8 *p, size_t n, size_t i) {
    if (i < n && p[i] == '-') i++;
    size_t d = json_digits(p, n, i);
    if (d == i || (p[i] == '0' && d > i + 1)) return SIZE_MAX;
    i = d;
    if (i < n && p[i] == '.') { d = json_digits(p, n, i + 1); if (d == i + 1) return SIZE_MAX; i = d; }
    if (i < n && (p[i] | 32) == 'e') {
        i++;
        if (i < n && (p[i] == '+' || p[i] == '-')) i++;
        d = json_digits(p, n, i);
        if (d == i) return SIZE_MAX;
        i = d;
    }
    return i;
}
static size_t json_scalar(const u8 *p, size_t n, size_t i) {
    if (p[i] == '"') return json_string(p, n, i);
    if (n - i >= 4 && (!memcmp(p + i, "true", 4) || !memcmp(p + i, "null", 4))) return i + 4;
    if (n - i >= 5 && !memcmp(p + i, "false", 5)) return i + 5;
    return json_number(p, n, i);
}
static size_t json_key(const u8 *p, size_t n, size_t i) {
    i = json_string(p, n, json_space(p, n, i));
    if (i == SIZE_MAX) return i;
    i = json_space(p, n, i);
    return i < n && p[i] == ':' ? i + 1 : SIZE_MAX;
}
static bool json_ok(const u8 *p, size_t n) {
    u8 *stack = need(malloc(n + 1));
    size_t depth = 0, i = 0;
    bool ok = false;
    for (;;) {
        i = json_space(p, n, i);                        /* a value begins here */
        if (i >= n) break;
        if (p[i] == '[' || p[i] == '{') {
            u8 close = p[i] == '[' ? ']' : '}';
            size_t k = json_space(p, n, i + 1);
            if (k < n && p[k] == close) i = k + 1;
            else {
                stack[depth++] = close;
                i = close == '}' ? json_key(p, n, i + 1) : i + 1;
                if (i == SIZE_MAX) break;
                continue;
            }
        } else if ((i = json_scalar(p, n, i)) == SIZE_MAX) break;
        for (i = json_space(p, n, i); depth && i < n && p[i] == stack[depth - 1]; i = json_space(p, n, i + 1)) depth--;
        if (!depth) { ok = i == n; break; }
        if (i >= n || p[i] != ',') break;
        i = stack[depth - 1] == '}' ? json_key(p, n, i + 1) : i + 1;
        if (i == SIZE_MAX) break;
    }
    free(stack);
    return ok;
}
/* RFC 3986, by its characters alone */
static bool url_ok(const u8 *p, size_t n) {
    if (!n) return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '%') { if (n - i < 3 || !isxdigit(p[i + 1]) || !isxdigit(p[i + 2])) return false; continue; }
        if (!isalnum(p[i]) && !(p[i] < 128 && strchr("-._~:/?#[]@!$&'()*+,;=", p[i]) && p[i])) return false;
    }
    return true;
}
/* 7.3, step 1 and the types */
static int typed(u8 type, u8 flags, Bytes *b) {
    if (flags & 2) {
        if (!b->n || b->p[0] > 1 || (b->p[0] == 0 && b->n > 1)) return V_BAD;
        if (!b->p[0]) return V_NONE;
        b->p++;
        b->n--;
    }
    int want = fixed_size(type);
    if (want >= 0 && b->n != (size_t)want) return V_BAD;
    if (type == 1 && b->p[0] > 1) return V_BAD;
    if ((type == 5 || type == 9 || type == 10) && !utf8(b->p, b->n)) return V_BAD;
    if (type == 9 && !url_ok(b->p, b->n)) return V_BAD;
    if (type == 10 && !json_ok(b->p, b->n)) return V_BAD;
    return V_OK;
}
/* 9.2: does the schema permit a value? the references of a field whose key another field names: INV-M6 */
static bool schema_permits(const Store *S, const Schema *c, const Field *f, const Value *v, const Body *b) {
    if (f->type != v->type || ((f->flags ^ v->flags) & 1) || (v->flags & 2 & ~f->flags)) return false;
    if (!(v->flags & 1)) return true;
    if (!S->k || !S->k->opened) return true;               /* nothing is opened: findings, 33 */
    if (!(f->state & 8)) return permitted(S->k, f->keys, f->nkeys, v->key);
    for (u32 i = 0; i < b->n; i++) {
        if (b->v[i].num != f->keyfield || b->v[i].flags & 3 || b->v[i].type != 5) continue;
        for (u32 k = 0; k < f->nchoice; k++)
            if (same(f->choice[k].name, b->v[i].v)) return permitted(S->k, f->choice[k].keys, f->choice[k].nkeys, v->key);
    }
    (void)c;
    return false;
}
static int open_value(const Store *S, const Schema *c, const Field *f, const Value *v, const Body *b, const u8 *id, Bytes *out, u8 **mem) {
    *mem = NULL;
    *out = v->v;
    if (!schema_permits(S, c, f, v, b)) return V_BAD;
    if (!(v->flags & 1)) return typed(v->type, v->flags, out);
    const u8 *key = NULL;
    if (shredded_ref(S->k, v->key)) return V_SHREDDED;
    int k = data_key(S->k, v->key, &key);
    if (k != OPEN) return k == LOCKED ? V_LOCKED : k == SHREDDED ? V_SHREDDED : k == NOFILE ? V_NOKEY : k == BADFILE ? V_BADKEY : V_TAMPERED;
    u8 aad[96];
    additional(S, "NL1field", v, id, c, f, aad);
    if (v->flags & 16) {
        int r = open_large(S, v, key, aad, out, mem);
        if (r != V_OK) return r;
    } else {
        size_t n = v->v.n - 40;
        *mem = need(malloc(n + 1));
        if (!xaes_open(key, v->v.p, v->v.p + 24, n, v->v.p + 24 + n, aad, 64, *mem)) return V_TAMPERED;
        *out = (Bytes){ *mem, n };
    }
    if ((v->flags & 4) && unpad(out) != V_OK) return V_BAD;
    if ((v->flags & 8) && decompress(out, mem) != V_OK) return V_BAD;
    return typed(v->type, v->flags, out);
}

/* ---- printing as `notelog dump --json` does ---------------------------------------------------------------------------------------- */
static void print_text(Bytes b) {
    putchar('"');
    for (size_t i = 0; i < b.n; i++) {
        u8 c = b.p[i];
        if (c == '"' || c == '\\') printf("\\%c", c);
        else if (c == '\n') printf("\\n");
        else if (c == '\t') printf("\\t");
        else if (c == '\r') printf("\\r");
        else if (c < 0x20 || c == 0x7f) printf("\\u%04x", c);
        else if (c == 0xc2 && i + 1 < b.n && b.p[i + 1] < 0xa0) printf("\\u%04x", b.p[++i]);
        else if (i + 2 < b.n && c == 0xe2 && b.p[i + 1] == 0x80 && (b.p[i + 2] == 0xa8 || b.p[i + 2] == 0xa9)) { printf("\\u20%02x", b.p[i + 2] - 0x80); i += 2; }
        else putchar(c);
    }
    putchar('"');
}
static void print_uuid(const u8 *p) {
    for (int i = 0; i < 16; i++) printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", p[i]);
}
static double r_double(const u8 *p) { u64 v = r64(p); double d; memcpy(&d, &v, 8); return d; }
static void print_double(double d) {
    char t[40];
    if (isnan(d)) { printf("{\"double\":\"nan\"}"); return; }
    if (isinf(d)) { printf("{\"double\":\"%sinf\"}", d < 0 ? "-" : ""); return; }
    for (int n = 1; n <= 17; n++) { snprintf(t, sizeof t, "%.*g", n, d); if (strtod(t, NULL) == d) break; }
    printf("%s%s", t, strpbrk(t, ".e") ? "" : ".0");
}
/* days since 1970 of the proleptic Gregorian calendar, undone */
static void print_date(double since2001) {
    if (!isfinite(since2001) || fabs(since2001) > 1e12) { printf("{\"date\":"); print_double(since2001); printf("}"); return; }
    int64_t whole = (int64_t)since2001;
    if ((double)whole > since2001) whole--;
    int64_t us = (int64_t)((since2001 - (double)whole) * 1e6 + 0.5), t = whole + 978307200;
    if (us >= 1000000) { us -= 1000000; t++; }
    int64_t day = t >= 0 ? t / 86400 : -((86399 - t) / 86400), sec = t - day * 86400, z = day + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153, d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9, y = yoe + era * 400 + (m <= 2);
    printf("\"%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64 ":%02" PRId64, y, m, d, sec / 3600, sec / 60 % 60, sec % 60);
    if (us) { char f[16]; int n = snprintf(f, sizeof f, ".%06" PRId64, us); while (f[n - 1] == '0') f[--n] = 0; printf("%s", f); }
    printf("Z\"");
}
static void print_base64(Bytes b) {
    static const char a[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < b.n; i += 3) {
        u32 left = (u32)(b.n - i > 3 ? 3 : b.n - i), v = (u32)b.p[i] << 16 | (left > 1 ? (u32)b.p[i + 1] << 8 : 0) | (left > 2 ? b.p[i + 2] : 0u);
        putchar(a[v >> 18]);
        putchar(a[v >> 12 & 63]);
        putchar(left > 1 ? a[v >> 6 & 63] : '=');
        putchar(left > 2 ? a[v & 63] : '=');
    }
}
static void print_value(u8 type, Bytes b) {
    switch (type) {
    case 1: printf(b.p[0] ? "true" : "false"); break;
    case 2: printf("%" PRId64, (int64_t)r64(b.p)); break;
    case 3: printf("%" PRIu64, r64(b.p)); break;
    case 4: print_double(r_double(b.p)); break;
    case 7: print_date(r_double(b.p)); break;
    case 8: putchar('"'); print_uuid(b.p); putchar('"'); break;
    case 6: printf("{\"base64\":\""); print_base64(b); printf("\"}"); break;
    case 10: printf("{\"json\":"); print_text(b); printf("}"); break;
    default: print_text(b);
    }
}

/* ---- records -------------------------------------------------------------------------------------------------------------------------- */
static void count_value(Store *S, int r) {
    if (r == V_LOCKED) S->locked++;
    if (r == V_SHREDDED || r == V_NOKEY) S->shredded++;
    if (r == V_OK || r == V_NONE || r == V_HUGE) S->opened++;
}
static const char *why(int r) { return r == V_TAMPERED ? "tampered" : "damaged"; }

/* the size of a sealed value as stored: of a large one the reference and its chunks */
static u64 stored_size(const Value *v) {
    if (!(v->flags & 16)) return v->v.n;
    u64 n = r64(v->v.p + 16);
    return n + (n / 65536 + (n % 65536 != 0)) * 40 + 64;
}
static void list_field(Store *S, const Schema *c, const Field *f, const Body *b, const u8 *id, bool *comma) {
    const Value *v = NULL;
    for (u32 i = 0; i < b->n; i++) if (b->v[i].num == f->num) v = &b->v[i];
    Bytes out;
    u8 *mem = NULL;
    int r = v ? open_value(S, c, f, v, b, id, &out, &mem) : V_NONE;
    if (r == V_HUGE) { free(mem); return; }
    if (*comma) putchar(',');
    *comma = true;
    print_text(f->name);
    putchar(':');
    if (r == V_NONE) printf("null");
    else if (r == V_OK) print_value(v->type, out);
    else if (r == V_LOCKED || r == V_SHREDDED || r == V_NOKEY || r == V_BADKEY) printf("{\"sealed\":%" PRIu64 ",\"key\":%u}", stored_size(v), v->key);
    else printf("{\"error\":\"%s\"}", why(r));
    if (r == V_TAMPERED || r == V_BAD) S->failed++;
    free(mem);
}
static bool list_record(Store *S, const Ver *v) {
    const Seg *s = &S->s[v->seg];
    const Schema *c = schema_in(S->sc, S->nsc, v->coll);
    Body b = { 0 };
    if (!c || !split_record(s, &s->f[v->frame], &b) || !parse_body(&b)) { free_body(&b); return false; }
    printf("{\"id\":\"");
    print_uuid(v->id);
    printf("\",\"collection\":");
    print_text(c->name);
    printf(",\"revision\":%" PRIu64, v->seq);
    if (stale(S, v->seq)) printf(",\"possiblyStale\":true");
    printf(",\"fields\":{");
    bool comma = false;
    for (u32 i = 0; i < c->nf; i++)
        if (!(c->f[i].state & (1 | 16))) list_field(S, c, &c->f[i], &b, v->id, &comma);
    for (u32 i = 0; i < b.n; i++) {
        const Field *f = NULL;
        for (u32 k = 0; k < c->nf; k++) if (c->f[k].num == b.v[i].num && !(c->f[k].state & 1)) f = &c->f[k];
        if (!f) { printf("%s\"field %u\":{\"unknown\":%" PRIu64 "}", comma ? "," : "", b.v[i].num, stored_size(&b.v[i])); comma = true; }
    }
    printf("}}\n");
    free_body(&b);
    return true;
}
static int list_cmp(const void *a, const void *b) {
    const Ver *x = a, *y = b;
    return x->coll != y->coll ? (x->coll < y->coll ? -1 : 1) : memcmp(x->id, y->id, 16);
}
static bool a_record(const Ver *v) { return v->kind == 1 && v->coll != 0; }
static bool audit(Store *S);
static int list_all(Store *S) {
    if (S->ncur) qsort(S->cur, S->ncur, sizeof *S->cur, list_cmp);
    size_t lost = S->nlost;
    for (size_t i = 0; i < S->nlost; i++) lost -= is_state(S->lost[i].id);
    bool bad = S->unproven || lost || S->lost_no_id || (!S->k && S->dir >= 0);
    for (size_t i = 0; i < S->ncur; i++) {
        const Ver *v = &S->cur[i];
        if (a_record(v) && !v->lost && !v->hidden && !list_record(S, v)) bad = true;
    }
    return bad || S->failed || (S->dir >= 0 && !audit(S)) ? 3 : 0;
}

/* 11.3: is a digest that of its source, which was opened? */
static size_t sort_key(const Value *v, u8 key[65]);
static bool digest_agrees(Store *S, const Schema *c, const Field *source, const Value *sv, Bytes plain, const Value *digest) {
    u8 info[12 + 16] = "NL1/equality", k[32], h[32], t[65], *m = NULL;
    const u8 *dk = NULL;
    Value p = { .type = sv->type, .v = plain };
    Bytes d = digest->v;
    bool folds = false;
    if (typed(6, digest->flags, &d) != V_OK || d.n != 16 || data_key(S->k, sv->key, &dk) != OPEN) return false;
    for (u32 i = 0; i < c->nf; i++) if (c->f[i].num == digest->num) folds = c->f[i].state & 32;
    name_hash(c->first, source->first, info + 12);
    hkdf(S->id, dk, 32, info, sizeof info, k);
    size_t n = plain.n < 4096 ? plain.n : 4096;
    if (fixed_size(sv->type) == 8) { n = sort_key(&p, t); plain.p = t; }
    m = need(malloc(n + 1));
    for (size_t i = 0; i < n; i++) m[i] = folds && plain.p[i] >= 'A' && plain.p[i] <= 'Z' ? plain.p[i] + 32 : plain.p[i];
    hmac(k, 32, m, n, h);
    free(m);
    return !memcmp(h, d.p, 16);
}
/* all digests of a value that was opened */
static bool digests_agree(Store *S, const Schema *c, const Field *f, const Value *v, Bytes plain, const Body *b) {
    for (u32 i = 0; i < c->nf; i++) {
        if (!(c->f[i].state & 16) || (c->f[i].state & 1) || c->f[i].source != f->num) continue;
        for (u32 k = 0; k < b->n; k++)
            if (b->v[k].num == c->f[i].num && !digest_agrees(S, c, f, v, plain, &b->v[k])) return false;
    }
    return true;
}
/* 12.2, line 4, for each record: what does not check is a finding of verification */
static bool chunks_there(const Store *S, const Value *v) {
    u64 len = r64(v->v.p + 16), n = (len + 65535) / 65536;
    if (len <= 65536 || len > 1ull << 40) return false;
    for (u64 i = 0; i < n; i++) {
        const Chunk *c = find_chunk(S, v->v.p, (u32)i);
        u64 want = i + 1 < n ? 65536 : len - 65536 * i;
        if (!c || S->s[c->seg].f[c->frame].plen != want + 48) return false;
    }
    return true;
}
static void check_field(Store *S, const Schema *c, const Body *b, const Value *v, const Ver *r) {
    const Field *f = NULL;
    for (u32 k = 0; k < c->nf; k++) if (c->f[k].num == v->num) f = &c->f[k];
    if (!f || (f->state & 1)) return;
    Bytes out;
    u8 *mem = NULL;
    int x = open_value(S, c, f, v, b, r->id, &out, &mem);
    if ((v->flags & 16) && !chunks_there(S, v)) finding(S, "structure", true, "chunks record=%02x%02x%02x%02x", r->id[0], r->id[1], r->id[2], r->id[3]);
    if (x == V_OK && (v->flags & 1) && !digests_agree(S, c, f, v, out, b)) x = V_BAD;
    if (v->flags & 1) count_value(S, x);
    if (x == V_BAD || x == V_TAMPERED) {
        bool like = f->type == v->type && !((f->flags ^ v->flags) & 1);
        finding(S, like && (v->flags & 1) ? "tags" : "records", true, "a value %s record=%02x%02x%02x%02x field=%u", why(x), r->id[0], r->id[1], r->id[2], r->id[3], v->num);
    } else if (x == V_BADKEY) finding(S, "tags", true, "the effaceable file of key %u does not check", v->key);
    free(mem);
}
static bool envelope_agrees(const Body *b) {
    u32 want = 0, have = b->env.n ? r16(b->env.p + 2) : 0;
    for (u32 i = 0; i < b->n; i++) {
        if (!(b->v[i].flags & 16)) continue;
        if (want >= have || memcmp(b->env.p + 4 + 16 * want, b->v[i].v.p, 16)) return false;
        want++;
    }
    return want == have;
}
/* 33: the sort key of a plain value; at most 64 bytes */
static size_t sort_key(const Value *v, u8 key[65]) {
    Bytes b = v->v;
    size_t n = 0;
    if (v->flags & 2) {
        if (!b.n) return 0;
        key[n++] = *b.p++;
        if (!--b.n) return n;
    }
    int want = fixed_size(v->type);
    if (want >= 0 && b.n != (size_t)want) return 0;
    if (want != 8) {
        size_t m = b.n < 64 - n ? b.n : 64 - n;
        memcpy(key + n, b.p, m);
        return n + m;
    }
    u64 x = r64(b.p);
    double d = r_double(b.p);
    if (v->type == 2) x ^= 1ull << 63;
    else if (v->type != 3) x = isnan(d) ? UINT64_MAX : d == 0 ? 1ull << 63 : x >> 63 ? ~x : x | 1ull << 63;
    for (int i = 0; i < 8; i++) key[n + (size_t)i] = (u8)(x >> (56 - 8 * i));
    return n + 8;
}
/* each key of an envelope is that of its field's value */
static bool keys_agree(const Body *b) {
    if (!b->env.n) return true;
    for (size_t at = 4 + 16ul * r16(b->env.p + 2); at < b->env.n;) {
        u16 field = r16(b->env.p + at), n = r16(b->env.p + at + 2);
        const Value *v = NULL;
        u8 key[65];
        for (u32 i = 0; i < b->n; i++) if (b->v[i].num == field) v = &b->v[i];
        if (!v || (v->flags & 1) || v->type == 10 || sort_key(v, key) != n || memcmp(key, b->env.p + at + 4, n)) return false;
        at += 4u + n;
    }
    return true;
}
static bool check_record(Store *S, const Ver *v) {
    const Seg *s = &S->s[v->seg];
    const Schema *c = schema_in(S->sc, S->nsc, v->coll);
    Body b = { 0 };
    bool whole = split_record(s, &s->f[v->frame], &b) && parse_body(&b);
    if (!whole) finding(S, "records", true, "body record=%02x%02x%02x%02x", v->id[0], v->id[1], v->id[2], v->id[3]);
    else {
        if (!c) finding(S, "records", true, "no schema of collection %u", v->coll);
        if (!envelope_agrees(&b) || !keys_agree(&b)) finding(S, "records", true, "envelope record=%02x%02x%02x%02x", v->id[0], v->id[1], v->id[2], v->id[3]);
        for (u32 i = 0; c && i < b.n; i++) check_field(S, c, &b, &b.v[i], v);
    }
    free_body(&b);
    return whole;
}

/* ---- 27: evidence ------------------------------------------------------------------------------------------------------------------------ */
static void pmac(const u8 key[32], const u8 *m, size_t n, u8 tag[16]) {
    Aes a = aes_new(key);
    u8 l0[16] = { 0 }, delta[16] = { 0 }, sum[16] = { 0 }, x[16];
    aes_block(a, l0, l0);
    size_t blocks = (n + 15) / 16;
    for (size_t i = 1; i < blocks; i++) {
        u8 l[16];
        memcpy(l, l0, 16);
        for (size_t k = i; !(k & 1); k >>= 1) times_x(l);
        xor16(delta, l);
        memcpy(x, m + 16 * (i - 1), 16);
        xor16(x, delta);
        aes_block(a, x, x);
        xor16(sum, x);
    }
    size_t left = n - 16 * (blocks - 1);
    memset(x, 0, 16);
    memcpy(x, m + 16 * (blocks - 1), left);
    if (left == 16) { over_x(l0); xor16(x, l0); } else x[left] = 0x80;
    xor16(x, sum);
    aes_block(a, x, tag);
    aes_free(a);
}
static void add128(u8 *sum, const u8 *v) {
    unsigned carry = 0;
    for (int i = 0; i < 16; i++) { carry += (unsigned)sum[i] + v[i]; sum[i] = (u8)carry; carry >>= 8; }
}
typedef struct { u32 ref; u64 start; const u8 *want; u8 record[32]; Aes version, seal; bool ready; u8 roll[16], seals[16]; } Gen;
typedef struct { Store *S; u8 plain[64 + 8 * 48 + 16 * 16]; u32 g; Gen gen[8]; u64 count; int faults; } Audit;

static void evidence(Audit *a, const char *fmt, ...) {
    va_list v;
    a->faults++;
    if (a->faults > 200 || !a->S->checking) return;
    printf("evidence ");
    va_start(v, fmt);
    vprintf(fmt, v);
    va_end(v);
    printf("\n");
}
static const u8 *evidence_key(const Keyring *k) {
    for (u32 i = 0; i < k->nnamed; i++) if (k->named[112 * i + 3] & 4) return k->named + 112 * i;
    return NULL;
}
/* opens the state into a->plain, and compares it with the layout */
static bool open_state(Audit *a, const Ver *v, const u8 *named) {
    Store *S = a->S;
    const Seg *s = &S->s[v->seg];
    const Frame *f = &s->f[v->frame];
    const u8 *p = payload(s, f), *key = NULL;
    if (f->flags || f->plen < 8 + 40 + 64 || f->plen > 8 + 40 + sizeof a->plain || r32(p + 4)) return false;
    u32 ref = r32(p);
    bool own = false;
    for (u32 i = 0; i < S->k->ndata; i++) own = own || (r32(S->k->data + 128 * i) == ref && r16(S->k->data + 128 * i + 6) == r16(named));
    if (!own) { evidence(a, "the state is under a key that is not the evidence key"); return false; }
    if (data_key(S->k, ref, &key) != OPEN) return false;
    u8 aad[40] = "NL1state";
    memcpy(aad + 8, S->id, 16);
    w64(aad + 24, v->seq);
    w32(aad + 32, ref);
    size_t n = f->plen - 48;
    if (!xaes_open(key, p + 8, p + 32, n, p + 32 + n, aad, 40, a->plain)) return false;
    u32 g = a->plain[1], w = a->plain[2];
    if (a->plain[0] & ~3 || g < 1 || g > 8 || w > 16 || n != 64 + 48ull * g + 16ull * w) return false;
    a->g = g;
    for (u32 i = 0; i < g; i++) {
        const u8 *q = a->plain + 64 + 48 * i;
        a->gen[i] = (Gen){ .ref = r32(q), .start = r64(q + 8), .want = q + 16 };
        if (r32(q + 4) || (i ? a->gen[i].start <= a->gen[i - 1].start : a->gen[i].start != 0)) return false;
    }
    return true;
}
static void gen_keys(Audit *a, Gen *g) {
    const u8 *e = NULL;
    u8 k[32];
    if (!g->ref || data_key(a->S->k, g->ref, &e) != OPEN) return;
    hkdf(a->S->id, e, 32, "NL1/evidence/record", 19, g->record);
    hkdf(a->S->id, e, 32, "NL1/evidence/version", 20, k);
    g->version = aes_new(k);
    hkdf(a->S->id, e, 32, "NL1/evidence/seal", 17, k);
    g->seal = aes_new(k);
    g->ready = true;
}
static void record_seal(const Gen *g, const Ver *v, const Body *b, u8 out[16]) {
    size_t n = 32 + b->env.n + b->body.n;
    u8 *m = need(calloc(1, n));
    memcpy(m, v->id, 16);
    w16(m + 16, v->coll);
    m[18] = b->env.n != 0;
    if (b->env.n) memcpy(m + 32, b->env.p, b->env.n);
    memcpy(m + 32 + b->env.n, b->body.p, b->body.n);
    pmac(g->record, m, n, out);
    free(m);
}
static void audit_record(Audit *a, const Ver *v) {
    Gen *g = NULL;
    char id[9];
    u8 x[16], want[16];
    snprintf(id, sizeof id, "%02x%02x%02x%02x", v->id[0], v->id[1], v->id[2], v->id[3]);
    for (u32 i = 0; i < a->g; i++) if (a->gen[i].start <= v->seq) g = &a->gen[i];
    a->count++;
    if (v->lost || v->hidden) evidence(a, "record %s can't be read", id);
    if (!g || !g->ready) return;
    aes_block(g->version, v->id, x);
    for (int i = 0; i < 8; i++) x[i] ^= (u8)(v->seq >> (8 * i));
    aes_block(g->version, x, x);
    add128(g->roll, x);
    if (v->lost || v->hidden) return;
    Body b;
    split_record(&a->S->s[v->seg], &a->S->s[v->seg].f[v->frame], &b);
    if (!b.seal) { evidence(a, "record %s has no seal", id); return; }
    record_seal(g, v, &b, want);
    if (CRYPTO_memcmp(want, b.seal, 16)) evidence(a, "record %s has another seal", id);
    aes_block(g->seal, b.seal, x);
    add128(g->seals, x);
}
static void audit_keyring(Audit *a) {
    const Keyring *k = a->S->k;
    u64 gen = r64(a->plain + 16);
    u8 d[32];
    if (k->generation < gen) evidence(a, "the keyring has a lower generation");
    if (k->generation == gen && memcmp(k->b.p + k->b.n - 32, a->plain + 3, 5)) evidence(a, "the keyring has the same generation and another digest");
    schemas_digest(a->S, false, d);
    if (memcmp(d, a->plain + 24, 16)) {
        schemas_digest(a->S, true, d);
        if (memcmp(d, a->plain + 24, 16)) evidence(a, "the schemas have another digest");
    }
    if (a->S->newest >= 0 && memcmp(a->S->s[a->S->newest].h.branch, a->plain + 40, 8) && a->S->checking) printf("restored yes\n");
}
static void audit_sums(Audit *a) {
    if (a->count != r64(a->plain + 48)) evidence(a, "the number of records differs: %" PRIu64 ", not %" PRIu64, a->count, r64(a->plain + 48));
    for (u32 i = 0; i < a->g; i++) {
        Gen *g = &a->gen[i];
        if (g->ref && !g->ready) { evidence(a, "a generation's key is not there"); continue; }
        if (memcmp(g->roll, g->want, 16)) evidence(a, "a roll differs");
        if (memcmp(g->seals, g->want + 16, 16)) evidence(a, "the seals differ");
        if (g->ready) { aes_free(g->version); aes_free(g->seal); }
    }
    if (a->plain[0] & 1) evidence(a, "a version that could not be read has been replaced");
    if ((a->plain[0] & 2) && a->S->checking) printf("accepted yes\n");
}
/* what is put for each record; false where the store keeps none */
static bool audit(Store *S) {
    if (!S->k || !S->k->opened || !S->k->has_root) return true;
    Audit *a = need(calloc(1, sizeof *a));
    a->S = S;
    const u8 *named = evidence_key(S->k);
    const Ver *state = NULL;
    for (size_t i = 0; i < S->ncur; i++) if (is_state(S->cur[i].id) && S->cur[i].kind == 1) state = &S->cur[i];
    if (!named && !state) { if (S->checking) printf("evidence none\n"); free(a); return true; }
    if (!named) evidence(a, "there is a state, and no evidence key");
    else if (!state) evidence(a, "there is no state");
    else if (state->lost || state->hidden || !open_state(a, state, named)) evidence(a, "the state does not open");
    else {
        for (u32 i = 0; i < a->g; i++) gen_keys(a, &a->gen[i]);
        audit_keyring(a);
        for (size_t i = 0; i < S->ncur && S->checking; i++) if (a_record(&S->cur[i])) audit_record(a, &S->cur[i]);
        if (S->checking) audit_sums(a);
        if (S->lost_no_id) evidence(a, "%" PRIu64 " records can't be read", S->lost_no_id);
    }
    bool sound = !a->faults;
    if (sound && S->checking) printf("evidence sound\n");
    free(a);
    return sound;
}

/* ---- check -------------------------------------------------------------------------------------------------------------------------------- */
static void judge_created(Store *S) {
    static const char text[] = "notelog: a store is being made in this folder\n";
    Bytes b;
    int r = map_file(S->dir, "created", 4096, &b);
    if (r) finding(S, "structure", true, "created is missing or can't be read");
    bool bad = b.n > sizeof text - 1;                       /* a beginning, and zeros, will do: findings, 4, 20 and 29 */
    for (size_t i = 0; i < b.n && !bad; i++) bad = b.p[i] && b.p[i] != (u8)text[i];
    if (!r && bad) finding(S, "structure", true, "created is not as it was written");
}
/* INV-M7, which verifying reports */
static void judge_schemas(Store *S) {
    u64 sum = 0;
    for (size_t i = 0; i < S->nsc; i++) sum += S->sc[i].rev;
    if (S->k && S->k->revisions > sum) finding(S, "records", true, "the keyring counts %" PRIu64 " revisions more", S->k->revisions - sum);
}
static void judge_close(Store *S) {
    Bytes b;
    Frame f;
    if (map_file(S->dir, "lock", 1u << 20, &b) || b.n < 64 || memcmp(b.p + 8, S->id, 16) || r32(b.p + 60) != crc(b.p, 60)) return;
    Pos p = { r32(b.p + 24), r32(b.p + 28) };
    Seg *s = valid_seg(S, p.seg);
    if (!pos_cmp(p, S->brk) && s && s->read && (!frame_at(s, p.off, s->b.n, &f) || f.kind != 7 || !f.ok || r32(payload(s, &f)) != p.seg || r32(payload(s, &f) + 4) != p.off)) {
        finding(S, "structure", true, "closeMark segment=%u offset=%u bytes=56", p.seg, p.off);
        if (s->b.n <= p.off + 56ull) { u64 had = s->b.n > p.off ? s->b.n - p.off : 0; S->torn_bytes -= S->torn_bytes < had ? S->torn_bytes : had; S->torn = S->torn_bytes > 0; }
    }
}
static void print_part(const char *name, bool bad, const char *good) { printf("part %s %s\n", name, bad ? "damaged" : good); }
static const char *verdict(const Store *S) { return S->unproven ? "unproven" : S->damaged || S->nlost || S->lost_no_id ? "contained" : "sound"; }

static int check(Store *S) {
    size_t records = 0, segs = 0;
    judge_created(S);
    judge_close(S);
    judge_schemas(S);
    if (S->index_there && !S->index_ok) finding(S, "index", true, "does not check");
    for (size_t i = 0; i < S->ncur; i++) {
        if (!a_record(&S->cur[i]) || S->cur[i].lost) continue;
        records += check_record(S, &S->cur[i]);
    }
    for (size_t i = 0; i < S->ns; i++) segs += S->s[i].read;
    bool evident = audit(S);
    bool damage = S->damaged || S->unproven || !evident;
    printf("verdict %s\n", verdict(S));
    printf("condition %s\n", damage ? "damaged" : S->torn ? "torn" : "sound");
    print_part("structure", S->part_structure || S->nlost || S->lost_no_id, "sound");
    print_part("index", S->part_index, "sound");
    print_part("keyring", S->part_keyring, "sound");
    print_part("records", S->part_records, "sound");
    print_part("tags", S->part_tags, S->k && S->k->opened ? "sound" : "unchecked");
    printf("segments %zu\nframes %" PRIu64 "\nbytes %" PRIu64 "\nrecords %zu\nopened %" PRIu64 "\nlocked %" PRIu64 "\nshredded %" PRIu64 "\n", segs, S->frames, S->bytes, records,
           S->opened, S->locked, S->shredded);
    printf("tornBytes %" PRIu64 "\nlostRecords %" PRIu64 "\nlostWithoutID %" PRIu64 "\n", S->torn_bytes, (u64)S->nlost + S->lost_no_id, S->lost_no_id);
    printf("floor %u:%u\nbreak %u:%u\n", S->floor.seg, S->floor.off, S->brk.seg, S->brk.off);
    if (S->unproven) printf("staleBelow %" PRIu64 "\n", S->stale);
    for (size_t i = 0; i < S->nlost; i++) { printf("lost "); print_uuid(S->lost[i].id); printf(" %" PRIu64 "\n", S->lost[i].seq); }
    for (size_t i = 0; i < S->nfind; i++) printf("%s\n", S->finding[i]);
    return damage ? 1 : 0;
}

/* ---- opening (12) ----------------------------------------------------------------------------------------------------------------------------- */
static void open_lines(Store *S) {
    find_log(S);
    read_index(S);
    find_floor(S);
    find_break(S);
    find_live(S);
    judge_log(S);
    for (size_t i = 0; i < S->nlive; i++) read_live(S, &S->live[i]);
    read_head(S);
    judge_copies(S);
    torn_tail(S);
    count_frames(S);
    choose_versions(S);
}
static void open_store(Store *S, const char *path, const Credential *c) {
    S->path = path;
    read_folder(S);
    choose_store(S);
    open_lines(S);
    find_schemas(S);
    keyrings(S, c);
    if (schemas_authentic(S, S->k)) return;
    if (!S->checking) fail(3, "a schema is tampered");
    finding(S, "keyring", true, "a schema is tampered");
    S->k->opened = S->k->has_root = false;
}

/* ---- 26: archives ------------------------------------------------------------------------------------------------------------------------------ */
typedef struct { char name[160]; char kind; u32 number, from, to, foot, branch, sum; u64 next, time, generation; u8 salt[8], print[8]; bool gone; } Object;
typedef struct { Object *o; size_t n, cap; int dir; u8 store[16]; bool have_store; } Archive;

static bool dec(const char **p, int least, int most, u64 *v) {
    int n = 0;
    *v = 0;
    while (isdigit((u8)**p) && n < most) { *v = *v * 10 + (u64)(**p - '0'); (*p)++; n++; }
    return n >= least && !isdigit((u8)**p);
}
static bool hex(const char **p, u8 *out, int bytes) {
    for (int i = 0; i < bytes; i++) {
        unsigned v = 0;
        for (int k = 0; k < 2; k++, (*p)++) {
            char c = **p;
            if (!(isdigit((u8)c) || (c >= 'a' && c <= 'f'))) return false;
            v = v << 4 | (unsigned)(isdigit((u8)c) ? c - '0' : c - 'a' + 10);
        }
        out[i] = (u8)v;
    }
    return true;
}
static bool dash(const char **p) { return *(*p)++ == '-'; }
static bool hex32(const char **p, u32 *v) {
    u8 b[4];
    if (!hex(p, b, 4)) return false;
    *v = (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3];
    return true;
}
static bool dec32(const char **p, u32 *out) {
    u64 v;
    if (!dec(p, 10, 10, &v) || v > UINT32_MAX) return false;
    *out = (u32)v;
    return true;
}
static bool log_part(const char **p, Object *o) { return dash(p) && hex32(p, &o->branch) && dash(p) && dec(p, 15, 15, &o->next) && dash(p) && dec(p, 13, 13, &o->time); }

/* the salt stands in names as a number: its highest byte first (found by comparing, the page does not say) */
static bool salt_digits(const char **p, u8 out[8]) {
    u8 b[8];
    if (!hex(p, b, 8)) return false;
    for (int i = 0; i < 8; i++) out[i] = b[7 - i];
    return true;
}

/* the name of an object */
static bool parse_object(const char *n, Object *o) {
    memset(o, 0, sizeof *o);
    if (strlen(n) >= sizeof o->name || n[0] == 0 || n[1] != '-') return false;
    strcpy(o->name, n);
    o->kind = n[0];
    const char *p = n + 2;
    if (o->kind == 'k') return dec(&p, 10, 19, &o->generation) && dash(&p) && hex(&p, o->print, 8) && !*p;
    if (!strchr("slpd", o->kind)) return false;
    if (!dec32(&p, &o->number) || !dash(&p) || !salt_digits(&p, o->salt) || !dash(&p)) return false;
    if (o->kind == 'p') return dec32(&p, &o->from) && dash(&p) && dec32(&p, &o->to) && log_part(&p, o) && dash(&p) && hex32(&p, &o->sum) && !*p;
    if (o->kind == 'd') return dec32(&p, &o->to) && dash(&p) && hex32(&p, &o->sum) && !*p;
    if (!hex32(&p, &o->foot) || !dash(&p) || !dec32(&p, &o->to)) return false;
    return (o->kind == 's' || log_part(&p, o)) && !*p;
}
static void read_archive(Archive *a, const char *path) {
    a->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = a->dir < 0 ? NULL : fdopendir(dup(a->dir));
    if (!d) fail(10, "there is no archive at '%s'", path);
    for (struct dirent *e; (e = readdir(d));) {
        Object o;
        const char *p = e->d_name + 6;
        u8 id[16];
        if (!strncmp(e->d_name, "store-", 6) && hex(&p, id, 16) && !*p) { memcpy(a->store, id, 16); a->have_store = true; continue; }
        if (!parse_object(e->d_name, &o)) continue;
        a->o = grow(a->o, &a->cap, a->n, sizeof *a->o);
        a->o[a->n++] = o;
    }
    closedir(d);
}
static bool on_branch(const Object *o, u32 branch) { return (o->kind == 'l' || o->kind == 'p') && o->branch == branch; }
static bool object_bytes(const Archive *a, const Object *o, Bytes *b) {
    if (map_file(a->dir, o->name, MAXFILE, b)) return false;
    if (o->kind == 'p') return o->to > o->from && b->n == o->to - o->from && crc(b->p, b->n) == o->sum;
    return b->n == o->to;
}
/* the file of a log segment: an l-, or its pieces without a gap. The piece that gets farthest counts, then the latest, then the next */
static Bytes assemble(const Archive *a, u32 branch, u32 number, const u8 *salt) {
    Bytes b = { NULL, 0 }, part;
    for (size_t i = 0; i < a->n; i++) {
        const Object *o = &a->o[i];
        if (o->kind == 'l' && o->number == number && o->branch == branch && !memcmp(o->salt, salt, 8) && object_bytes(a, o, &b)) return b;
    }
    u8 *buf = NULL;
    size_t n = 0;
    for (;;) {
        const Object *best = NULL;
        for (size_t i = 0; i < a->n; i++) {
            const Object *o = &a->o[i];
            if (o->kind != 'p' || o->gone || o->number != number || o->branch != branch || memcmp(o->salt, salt, 8) || o->from > n || o->to <= n) continue;
            if (!best || o->to > best->to || (o->to == best->to && (o->time > best->time || (o->time == best->time && o->next > best->next)))) best = o;
        }
        if (!best) break;
        if (!object_bytes(a, best, &part)) { ((Object *)(uintptr_t)best)->gone = true; continue; }
        buf = need(realloc(buf, best->to));
        memcpy(buf + best->from, part.p, part.n);
        n = best->to;
    }
    static const u8 nothing[1];
    return n ? (Bytes){ buf, n } : (Bytes){ nothing, 0 };
}
/* walks the units of a log segment up to a moment; where it ends, and the next number there */
static bool walk_to(const Seg *s, u64 moment, u64 *cut, u64 *next) {
    u64 off = 0;
    Expect none = { false, 0 }, x = { s->h.kind == 1, s->h.first };
    if (!starts_well(s, &none, &off)) return false;
    *next = s->h.first;
    for (;;) {
        u64 to = off;
        Frame f;
        *cut = off;
        if (!frame_at(s, off, unit_limit(s), &f) || (f.kind != 7 && f.seq > moment)) return true;
        if (!read_unit(s, &to, &x)) return true;
        if (f.kind != 7) *next = f.seq + 1;
        if (to <= off) return true;
        off = to;
    }
}
static void bring_live(const Archive *a, Store *S) {
    for (size_t i = 0; i < S->nlive; i++) {
        const Live *l = &S->live[i];
        if (seg_by_number(S, l->number)) continue;
        const Object *best = NULL;
        for (size_t k = 0; k < a->n; k++) {
            const Object *o = &a->o[k];
            if (o->number != l->number || memcmp(o->salt, l->salt, 8)) continue;
            if ((o->kind == 's' || o->kind == 'l') && o->foot == l->foot_crc && o->to == l->length) best = o;
            if (o->kind == 'd' && !best) best = o;
        }
        if (!best) continue;
        u32 n = l->number;
        add_segment(S, n, "");
        Seg *s = &S->s[S->ns - 1];
        if (map_file(a->dir, best->name, MAXFILE, &s->b)) s->unreadable = true;
        if (!s->unreadable) parse_headers(s);
        if (s->h.valid && memcmp(s->h.store, S->id, 16)) s->h.valid = false;
    }
}
/* 26, line 5: the newest keyring that the credential opens, and that is of the moment */
static bool has_listed(const Store *S, const Keyring *k) {
    u64 sum = 0;
    for (size_t i = 0; i < S->nsc; i++) {
        sum += S->sc[i].rev;
        for (u32 f = 0; f < S->sc[i].nf; f++)
            for (u32 r = 0; r < S->sc[i].f[f].nkeys; r++) {
                bool there = false;
                for (u32 d = 0; d < k->ndata && !there; d++) there = r32(k->data + 128 * d) == r32(S->sc[i].f[f].keys + 4 * r);
                if (!there) return false;
            }
    }
    return k->revisions <= sum;
}
static int object_cmp(const void *x, const void *y) {
    const Object *a = x, *b = y;
    return a->generation > b->generation ? -1 : a->generation < b->generation;
}
static void archive_keyring(const Archive *a, Store *S, const Credential *c) {
    Object *ks = need(calloc(a->n + 1, sizeof *ks));
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) if (a->o[i].kind == 'k') ks[n++] = a->o[i];
    if (n) qsort(ks, n, sizeof *ks, object_cmp);
    Keyring *fallback = NULL;
    for (size_t i = 0; i < n; i++) {
        Keyring *k = need(calloc(1, sizeof *k));
        if (map_file(a->dir, ks[i].name, 64u << 20, &k->b) || !parse_keyring(S, k, true) || memcmp(k->sha, ks[i].print, 8)) continue;
        if (!c->given) { if (!fallback) fallback = k; continue; }
        if (unlock(S, k, c) != 1) continue;
        if (!fallback) fallback = k;
        if (schemas_authentic(S, k) && has_listed(S, k)) { fallback = k; break; }
    }
    free(ks);
    if (c->given && !fallback) fail(12, "no keyring of the archive opens");
    S->k = fallback;
}
typedef struct { u32 number; u8 salt[8]; u64 next; } LogSeg;
static int logseg_cmp(const void *x, const void *y) {
    const LogSeg *a = x, *b = y;
    return a->number < b->number ? -1 : a->number > b->number ? 1 : memcmp(a->salt, b->salt, 8);
}
static size_t branch_segments(const Archive *a, u32 branch, LogSeg *l) {
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const Object *o = &a->o[i];
        if (!on_branch(o, branch)) continue;
        size_t k = 0;
        while (k < n && (l[k].number != o->number || memcmp(l[k].salt, o->salt, 8))) k++;
        if (k == n) { l[n] = (LogSeg){ .number = o->number, .next = o->next }; memcpy(l[n++].salt, o->salt, 8); }
        if (o->next > l[k].next) l[k].next = o->next;
    }
    if (n) qsort(l, n, sizeof *l, logseg_cmp);
    return n;
}
/* one log segment of a branch, cut at a moment, as the store's newest; with exact: only if it has that moment */
static bool take_moment(const Archive *a, Store *S, u32 branch, const LogSeg *l, u64 moment, bool exact) {
    Seg s = { .number = l->number };
    u64 cut = 0, next = 0;
    s.b = assemble(a, branch, s.number, l->salt);
    if (s.b.n < FIRST + FRAME) return false;
    parse_headers(&s);
    if (!s.h.valid || s.h.kind > 2 || memcmp(s.h.salt, l->salt, 8)) return false;
    memcpy(S->id, s.h.store, 16);
    if (!walk_to(&s, moment, &cut, &next) || next > moment + 1 || (exact && next != moment + 1)) return false;
    add_segment(S, s.number, "");
    s.trailer = false;
    S->s[S->ns - 1] = s;
    S->forced = true;
    S->forced_at = (Pos){ s.number, (u32)cut };
    return true;
}
/* the log segment that a moment lies in; where none has it, the last moment before it. 1 found, 0 the one before, -1 none */
static int moment_segment(const Archive *a, Store *S, u32 branch, u64 moment) {
    LogSeg *l = need(calloc(a->n + 1, sizeof *l));
    size_t n = branch_segments(a, branch, l);
    int found = -1;
    for (size_t i = 0; i < n && found < 0 && moment != MAXSEQ; i++)
        if (l[i].next > moment && take_moment(a, S, branch, &l[i], moment, true)) found = 1;
    for (size_t i = n; i > 0 && found < 0; i--)
        if (take_moment(a, S, branch, &l[i - 1], moment, false)) found = moment == MAXSEQ && i == n;
    free(l);
    return found;
}
/* the branches that hold a moment */
static u32 choose_branch(const Archive *a, u64 moment) {
    u32 best = 0;
    u64 best_next = 0, best_time = 0;
    bool any = false;
    for (size_t i = 0; i < a->n; i++) {
        const Object *o = &a->o[i];
        if (o->kind != 'l' && o->kind != 'p') continue;
        Bytes whole;
        if ((moment != MAXSEQ && o->next <= moment) || !object_bytes(a, o, &whole)) continue;
        bool better = !any || (moment == MAXSEQ ? o->next > best_next || (o->next == best_next && o->time > best_time) : o->next < best_next);
        if (better) { best = o->branch; best_next = o->next; best_time = o->time; any = true; }
    }
    if (!any) fail(1, "the archive has no such moment");
    return best;
}
static int list_archive(Store *S, const char *path, u64 moment, bool branch_given, u32 branch, const Credential *c) {
    Archive a = { 0 };
    S->path = path;
    S->dir = -1;
    read_archive(&a, path);
    if (!branch_given) branch = choose_branch(&a, moment);
    int found = moment_segment(&a, S, branch, moment);
    if (found < 0) fail(3, "the archive has nothing of that moment");
    if (!found) fprintf(stderr, "reader: the archive does not have that moment whole; this is the last one before\n");
    find_log(S);
    find_floor(S);
    find_break(S);
    find_live(S);
    bring_live(&a, S);
    qsort(S->s, S->ns, sizeof *S->s, seg_cmp);
    free(S->log);
    S->nlog = 0;
    S->nlive = 0;
    for (size_t i = 0; i < S->ns; i++) { free(S->s[i].f); S->s[i].f = NULL; S->s[i].nf = 0; }
    open_lines(S);
    find_schemas(S);
    archive_keyring(&a, S, c);
    if (!schemas_authentic(S, S->k)) fail(3, "no keyring of the archive is of this moment");
    int r = list_all(S);
    return found ? r : 3;
}

/* ---- command line -------------------------------------------------------------------------------------------------------------------------------- */
static void usage(void) {
    fprintf(stderr, "usage: reader check|list STORE [--key HEX64 | --password TEXT] [--device HEX64]\n"
                    "       reader archive FOLDER [--at REVISION] [--branch HEX8] [--key HEX64 | --password TEXT]\n");
    _exit(64);
}
static void parse_hex32(const char *t, u8 out[32]) {
    const char *p = t;
    if (strlen(t) != 64 || !hex(&p, out, 32)) usage();
}
int main(int argc, char **argv) {
    Store *S = need(calloc(1, sizeof *S));
    Credential c = { 0 };
    u64 moment = MAXSEQ;
    u32 branch = 0;
    bool branch_given = false;
    signal(SIGBUS, on_bus);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (argc < 3) usage();
    for (int i = 3; i + 1 < argc; i += 2) {
        const char *o = argv[i], *v = argv[i + 1];
        if (!strcmp(o, "--key")) { parse_hex32(v, c.raw); c.given = true; c.kind = 2; }
        else if (!strcmp(o, "--password")) { c.password = v; c.given = true; c.kind = 1; }
        else if (!strcmp(o, "--device")) { parse_hex32(v, c.device); c.have_device = true; }
        else if (!strcmp(o, "--at")) moment = strtoull(v, NULL, 10);
        else if (!strcmp(o, "--branch")) { const char *p = v; if (!hex32(&p, &branch)) usage(); branch_given = true; }
        else usage();
    }
    if (argc % 2 == 0) usage();
    int code = 64;
    if (!strcmp(argv[1], "check") || !strcmp(argv[1], "list")) {
        S->checking = argv[1][0] == 'c';
        open_store(S, argv[2], &c);
        code = argv[1][0] == 'c' ? check(S) : list_all(S);
    } else if (!strcmp(argv[1], "archive")) code = list_archive(S, argv[2], moment, branch_given, branch, &c);
    else usage();
    fflush(stdout);
    return code;
}
