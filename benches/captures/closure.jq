# The row of a closure: $name, and as files $run (the document of the replay), $recorded and $replayed (summaries). What sets
# up sessions, or ends them, is left out, because a replay has its own. So are interim answers, which the server gives when
# it is slow. Files that a session left open have a CLOSE more in the replay.

def on_files:
  .commands | with_entries(
    select(.key | test("^(cifs_)?(negotiate|session_setup|logoff|tree_connect|tree_disconnect|echo|ioctl)(_andx)?$") | not)
    | .value |= {requests, statuses: (.statuses | del(.STATUS_PENDING))});

def with_closed(closed):
  with_entries(if .key | test("^(cifs_)?close$")
    then .value |= (.requests += closed | .statuses.STATUS_SUCCESS += closed) else . end);

def or_none: if . == "" then "-" else . end;

$recorded[0] as $first | $replayed[0] as $second
| ($first | on_files | with_closed($run[0].plan.workload.replay.closed)) as $before
| ($second | on_files) as $after
| def apart(part):
    [$before + $after | keys[] | select(($before[.] | part) != ($after[.] | part))] | join(",") | or_none;
  [$first, $second | "\(.bytes_read) \(.bytes_written)"] as $bytes
| ([$first, $second | .unreadable | .lost_bytes + .encrypted_messages] | add) as $unread
| ([apart(.requests), apart(.statuses)] == ["-", "-"] and $bytes[0] == $bytes[1]) as $is_equal
| [$name, ([$before[].requests] | add), apart(.requests), $bytes[0],
    (if $bytes[0] == $bytes[1] then "-" else $bytes[1] end), apart(.statuses),
    (if $unread > 0 then "falls short: the captures lack \($unread) bytes or messages"
      elif $is_equal then "holds" else "falls short" end)]
| @tsv
