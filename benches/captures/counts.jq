# The messages of a summary as lines of command, "request" or status, and number. $values is what `tshark -G values` prints:
# it names the statuses for which smbench has only a number.

def number: [("0123456789" | explode[]), ("ABCDEF" | explode[])] as $digits
  | reduce (.[2:] | explode[]) as $digit (0; . * 16 + ($digits | index($digit)));

($values | [split("\n")[] | split("\t") | select(.[1] == "smb.nt_status") | {key: .[2], value: .[3]}] | from_entries) as $names
| .commands | to_entries[] | .key as $name
| {key: "request", value: .value.requests}, (.value.statuses | to_entries[])
| select(.value > 0)
| [$name, (.key | if startswith("0x") then $names[number | tostring] // . else . end), .value]
| @tsv
