// Stores with many more segments than a process may open files.
import Foundation
import Testing

@Suite struct DescriptorLimitTests {
  /// The bug: every segment was open at once, as were those that an import wrote.
  @Test func `with 64 descriptors every verb works on a store of more segments`() throws {
    let bench = try Workbench()
    let script =
      storePrelude + """
        ulimit -n 64
        body=$(head -c 4500 /dev/urandom | base64 | tr -d '\\n/')
        awk -v body="$body" 'BEGIN { for (i = 1; i <= 100; i++)
          printf "{\\"id\\":\\"00000000-0000-0000-0000-%012d\\",\\"fields\\":{\\"title\\":\\"%d\\",\\"body\\":\\"%s\\"}}\\n", i, i, body
        }' >lines
        sed 's/"body":"...../"body":"other/' lines >changed
        id=00000000-0000-0000-0000-000000000007
        try() { notelog "$@" $quick >out 2>err || { echo "$*: $?"; cat err; }; }
        import() { try import "$@" --segment-size 16K --batch 1; }
        import my.notelog lines
        [ $(ls my.notelog/*.journal | wc -l) -gt 75 ] && echo many
        # One that was not closed: every segment is looked at.
        cp -r my.notelog killed
        head=$(notelog info my.notelog | sed -n 's/^segment *\\([0-9]*\\),.*being written.*/\\1/p')
        head -c 64 /dev/zero >>killed/$(printf %012d $head).journal
        for store in my.notelog killed; do
          for verb in info list dump "dump --frames" verify "key list"; do try $verb $store; done
          try get $store $id title
          try search $store 99
          try backup $store $store.backup
          try salvage $store --to $store.new
          try add $store title=x
          try set $store $id title=y
          try remove $store $(notelog add $store title=z $quick)
          import $store changed
          try backup $store $store.backup
          try restore $store.backup $store.again
          try compact $store
          for it in $store $store.new $store.again; do
            notelog verify $it $quick | grep verdict
            notelog list $it $quick | wc -l
          done
        done
        """
    let each = """
      verdict    sound
      101
      verdict    sound
      100
      verdict    sound
      101

      """
    try bench.expect(script, .init(out: "many\n" + each + each))
  }
}
