#!/bin/sh
# PreToolUse, Bash: keeps a log of all commands, with what they are for.
jq -r '"\(.tool_input.command) - \(.tool_input.description // "No description")"' >> "${COMMAND_LOG:-$HOME/.claude/bash-command-log.txt}"
