# shellcheck shell=bash
# Shared by the scripts: steps that print one line each, and the folders they use.
# root is the checkout; logs may be thrown away; cache outlives a checkout, so a fresh clone finds wheels, models and images again.
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/.cache/log
# shellcheck disable=SC2034  # read by the scripts that source this file
cache=${XDG_CACHE_HOME:-$HOME/.cache}/monogpu-kit
mkdir -p "$logs"
cd "$root"

declare -A job_pid job_start

microseconds() { echo "${EPOCHREALTIME/[.,]/}"; }

# seconds_since START [END]
seconds_since() {
  local tenths=$(((${2:-$(microseconds)} - $1) / 100000))
  echo "$((tenths / 10)).$((tenths % 10)) s"
}

log_of() { echo "$logs/${1//[^A-Za-z0-9.]/-}.log"; }

# begin NAME COMMAND...: runs COMMAND beside us, its chatter in a log; `end NAME` waits for it. A process group of its own lets
# an interrupt reach everything that it started.
begin() {
  local log
  log=$(log_of "$1")
  job_start[$1]=$(microseconds)
  rm -f "$log.ended"
  set -m
  (set -euo pipefail; trap 'microseconds > "$log.ended"' EXIT; "${@:2}") > "$log" 2>&1 3> "$log.said" < /dev/null &
  job_pid[$1]=$!
  set +m
}

end() {
  local status=0 log took
  log=$(log_of "$1")
  printf '%-24s ' "$1"
  wait "${job_pid[$1]}" || status=$?
  unset "job_pid[$1]"
  took=$(seconds_since "${job_start[$1]}" "$(cat "$log.ended")")
  if [ "$status" = 0 ]; then
    printf '%8s  %s\n' "$took" "$(awk 'NF { printf "%s%s", comma, $0; comma = ", " }' "$log.said")"
  else
    printf 'failed after %s\n' "$took"
    explain "$log" >&2
  fi
  return "$status"
}

# first_of NAME...: waits until one of them is over.
first_of() {
  local name
  while :; do
    for name in "$@"; do [ ! -e "$(log_of "$name").ended" ] || return 0; done
    sleep 0.5
  done
}

step() { begin "$@"; end "$1"; }

# A failed step shows its cause and mend, or, when it named none, the end of its log.
explain() {
  if [ -s "$1.said" ]; then sed 's/^/  /' "$1.said"; else tail -n "${log_lines:-20}" "$1" | sed 's/^/  | /'; fi
  echo "  the whole log: ${1#"$root"/}"
}

# Inside a step: a remark for its line; or the cause and what mends it, after which the step is over.
say() { printf '%s\n' "$@" >&3; }
mend() { say "$@"; exit 1; }

# The words at the top of the script that was started.
usage() { sed -n '2,/^[^#]/s/^# //p' "$0"; }

have() { command -v "$1" > /dev/null; }
is_root() { [ "$(id -u)" = 0 ]; }

apt_install() {
  have apt-get || return 1
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}

# The Debian mirror that this machine's own apt uses; nothing on another system.
# shellcheck disable=SC2016  # apt fills in $(REPO_URI)
debian_mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2> /dev/null | head -n 1; }

# As somebody's Ctrl-C would: tests then remove the containers that they started. Whoever takes longer than a minute is killed.
stop_jobs() {
  local pid tenths=0
  for pid in "${job_pid[@]}"; do kill -INT -- "-$pid" 2> /dev/null || true; done
  for pid in "${job_pid[@]}"; do
    while kill -0 -- "-$pid" 2> /dev/null && [ $((tenths += 1)) -lt 600 ]; do sleep 0.1; done
    kill -TERM -- "-$pid" 2> /dev/null || true
  done
}
trap stop_jobs EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
