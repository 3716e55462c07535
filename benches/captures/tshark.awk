# Counts the messages that tshark sees, as lines of command, "request" or status, and number, with the names of smbench.
# The first file is of `tshark -G values`. The second one has fields of each frame: smb2.cmd, smb2.flags.response,
# smb2.nt_status, smb.cmd, smb.wct, smb.flags.response and smb.nt_status. Each has a value for each message in the frame.

function is_set(flag) { return flag ~ /^(1|True)$/ }

function add(command, is_answer, code) {
  count[command "\t" (!is_answer ? "request" : code in status ? status[code] : "0x" toupper(substr(code, 3)))]++
}

BEGIN {
  FS = "\t"
  # By code. tshark has other words for some.
  split("negotiate session_setup logoff tree_connect tree_disconnect create close flush read write lock ioctl cancel echo " \
    "query_directory change_notify query_info set_info oplock_break", smb2, " ")
}

FNR == NR && $2 == "smb.nt_status" { status[sprintf("0x%08x", $3)] = $4 }

FNR == NR && $2 == "smb.cmd" {
  name = tolower($4)
  gsub(" ", "_", name)
  sub(/_protocol$/, "", name)
  sub(/^trans/, "transaction", name)
  sub(/^nt_trans/, "nt_transact", name)
  cifs[sprintf("0x%02x", $3)] = "cifs_" name
}

FNR == NR { next }

{
  messages = split($1, command, ",")
  split($2, flag, ",")
  split($3, code, ",")
  answers = 0
  # Only answers have a status.
  for (i = 1; i <= messages; i++) add(smb2[command[i] + 1], is_set(flag[i]), is_set(flag[i]) ? code[++answers] : "")

  commands = split($4, command, ",")
  split($5, words, ",")
  split($6, flag, ",")
  split($7, code, ",")
  message = block = 1
  # An AndX command that has words names the next one of its chain, 0xff for none. The status is of the last one.
  for (i = 1; i <= commands; i++) {
    has_next = words[block++] > 0 && command[i] ~ /^0x(24|2d|2e|2f|73|74|75|a2)$/
    is_last = !has_next || command[i + 1] == "0xff"
    add(cifs[command[i]], is_set(flag[message]), is_last ? code[message] : "0x00000000")
    message += is_last
    i += is_last && has_next
  }
}

END { for (key in count) print key "\t" count[key] }
