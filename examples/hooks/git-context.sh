#!/usr/bin/env bash
# SessionStart, UserPromptSubmit: the output is shown to the model.
cd "$CLAUDE_PROJECT_DIR" || exit 0
git rev-parse --git-dir >/dev/null 2>&1 || { echo "This folder is no git repository."; exit 0; }
echo "Branch: $(git branch --show-current)"
echo "Uncommitted files: $(git status --porcelain | wc -l | tr -d ' ')"
