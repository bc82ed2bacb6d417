#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a machine whose kernel knows control groups of version 2 alone (test_control_groups_version_2.py).
# It stands on the host's files. $PYTHON runs $TESTS and tells $REPORT.
mount -t proc proc /proc
mount -t cgroup2 none /sys/fs/cgroup
groups=/sys/fs/cgroup
# As systemd has it: a session's processes in a scope of their slice; and as containers have it, a quota around them.
mkdir -p $groups/user.slice/session.scope
echo +cpu >$groups/cgroup.subtree_control
echo +cpu >$groups/user.slice/cgroup.subtree_control
echo 90000 100000 >$groups/user.slice/cpu.max
echo $$ >$groups/user.slice/session.scope/cgroup.procs
cd "$(dirname "$0")/../../.." || exit
{
    "$PYTHON" -m pytest -q -rs -p no:cacheprovider "$TESTS" -k "quota_throttles or priority or busy or error_within"
    find $groups -name 'volley-*'
} >"$REPORT" 2>&1
echo o >/proc/sysrq-trigger
sleep 60 # for the power to go
