# Sourced by the commands of this folder: finds a Python to run the launcher with.
# Any 3.10 or later will do; the launcher chooses the one that LocalStack itself runs on.
python=
for candidate in python3 python3.13 python3.12 python3.11 python3.10 "$HOME"/.pyenv/versions/*/bin/python3; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "localstack: no Python 3.10 or later in PATH or ~/.pyenv" >&2
  exit 1
fi
