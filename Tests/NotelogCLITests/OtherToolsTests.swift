// Archives in the hands of the tools that carry and keep them: rclone, restic, and an S3 server. Each where it is
// installed.
import Testing

@Suite struct OtherToolsTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private static func isInstalled(_ programs: String) -> Bool {
    (try? Workbench().run("for name in \(programs); do command -v $name >/dev/null || exit 1; done").code)
      == 0
  }
  static let hasRclone = isInstalled("rclone")
  static let hasRestic = isInstalled("restic")
  static let hasBuckets = isInstalled("rclone moto_server python3")

  /// Records come, an archive is asked whether it makes the same store, and rclone serves a folder.
  static let prelude =
    storePrelude + #"""
      export HOME="$PWD" RCLONE_CONFIG=/dev/null
      more() { for i in $(seq $1 $2); do echo '{"fields":{"title":"'$i'","body":"text '$i'"}}'; done | notelog import my.notelog $quick; }
      same() {
        notelog verify $1 $quick | grep verdict
        notelog restore $1 $1.new $quick >/dev/null && notelog dump my.notelog --json $quick >want &&
          notelog dump $1.new --json $quick | cmp - want && echo same
      }
      wait_for_port() {
        trap 'kill $server 2>/dev/null' EXIT
        until port=$(sed -nE 's/.*127\.0\.0\.1:([1-9][0-9]*).*/\1/p' log 2>/dev/null | head -1) && [ -n "$port" ]; do
          kill -0 $server || exit 9
        done
      }
      there_and_back() {
        more 1 30; notelog backup my.notelog box >/dev/null; rclone copy --immutable box "$1" && echo copied
        more 31 40; notelog ship my.notelog box --once >/dev/null; rclone copy --immutable box "$1" && echo copied
        rclone copy "$1" back; same back
      }

      """#
  static let answer = "copied\ncopied\nverdict    sound\nsame\n"

  func expect(_ script: String, out: String, _ location: SourceLocation = #_sourceLocation) throws {
    let answer = try bench.run(Self.prelude + script)
    #expect(answer.out == out, "\(answer.err)", sourceLocation: location)
    #expect(answer.code == 0, "\(answer.err)", sourceLocation: location)
  }

  @Test(.enabled(if: hasRclone, "rclone is not installed"))
  func `rclone copies what each round put`() throws {
    let script = """
      more 1 30; notelog ship my.notelog box --once --then 'rclone copy --immutable box copy' >/dev/null 2>&1; echo $?
      more 31 40; notelog ship my.notelog box --once --then 'rclone copy --immutable box copy' >/dev/null 2>&1; echo $?
      same copy
      """
    try expect(script, out: "0\n0\nverdict    sound\nsame\n")
  }

  @Test(.enabled(if: hasRclone, "rclone is not installed"))
  func `an archive goes to a webdav server and back`() throws {
    let script = """
      mkdir served
      rclone serve webdav served --addr 127.0.0.1:0 --log-file log -v & server=$!
      wait_for_port
      there_and_back ":webdav,url='http://127.0.0.1:$port':notes"
      """
    try expect(script, out: Self.answer)
  }

  @Test(.enabled(if: hasRclone, "rclone is not installed"))
  func `an archive goes to an sftp server and back`() throws {
    let script = """
      mkdir served
      rclone serve sftp served --addr 127.0.0.1:0 --user me --pass secret --log-file log -v & server=$!
      wait_for_port
      there_and_back ":sftp,host=127.0.0.1,port=$port,user=me,pass=$(rclone obscure secret),shell_type=none:notes"
      """
    try expect(script, out: Self.answer)
  }

  @Test(.enabled(if: hasRestic, "restic is not installed"))
  func `restic keeps an archive, and what it restores verifies`() throws {
    let script = """
      export RESTIC_PASSWORD=x RESTIC_CACHE_DIR=cache
      restic init -q -r repo
      more 1 30; notelog backup my.notelog box >/dev/null; restic backup -q -r repo box
      more 31 40; notelog backup my.notelog box >/dev/null; restic backup -q -r repo box
      restic restore -q -r repo latest --target out >/dev/null
      same out/box
      """
    try expect(script, out: "verdict    sound\nsame\n")
  }

  /// A bucket whose objects are locked, and a user who may put, list and get.
  static let bucket = #"""
    unset AWS_CA_BUNDLE HTTP_PROXY http_proxy
    # It asks whether who comes is allowed to; of signatures it takes queries for others than they are.
    S3_IGNORE_SUBDOMAIN_BUCKETNAME=1 python3 -c 'if True:
      from moto.iam.access_control import IAMRequestBase
      from moto.server import main
      IAMRequestBase.check_signature = lambda self: None
      main(["-H", "127.0.0.1", "-p", "0"])' >log 2>&1 & server=$!
    wait_for_port
    python3 - $port >credentials <<'END'
    import boto3, json, sys, urllib.request
    server = "http://127.0.0.1:" + sys.argv[1]
    def client(kind):
        return boto3.client(kind, endpoint_url=server, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    s3, iam = client("s3"), client("iam")
    s3.create_bucket(Bucket="notes", ObjectLockEnabledForBucket=True)
    s3.put_object_lock_configuration(Bucket="notes", ObjectLockConfiguration={
        "ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}})
    iam.create_user(UserName="shipper")
    iam.put_user_policy(UserName="shipper", PolicyName="append", PolicyDocument=json.dumps({
        "Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": ["s3:PutObject", "s3:GetObject", "s3:ListBucket"], "Resource": "*"}]}))
    key = iam.create_access_key(UserName="shipper")["AccessKey"]
    print(key["AccessKeyId"], key["SecretAccessKey"])
    # From now on who asks must be allowed to.
    headers = {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(server + "/moto-api/reset-auth", b"0", headers, method="POST")).read()
    END
    read -r id secret <credentials
    remote=":s3,provider=Other,endpoint='http://127.0.0.1:$port',region=us-east-1,access_key_id=$id,secret_access_key=$secret,no_check_bucket=true"

    """#

  @Test(.enabled(if: hasBuckets, "rclone, python3 or moto_server are not installed"))
  func `a bucket with locked objects takes an archive from who may put, list and get`() throws {
    let script =
      Self.bucket + """
        there_and_back "$remote:notes/laptop"
        rclone delete --retries 1 "$remote:notes/laptop" 2>/dev/null || echo refused
        """
    try expect(script, out: Self.answer + "refused\n")
  }
}
