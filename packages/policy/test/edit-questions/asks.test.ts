// Holds R-EASK-1 to R-EASK-6 of docs/spec: which commands run confined to the workspace in `acceptEdits`, and which ask although they could.
import { execFileSync } from 'node:child_process'
import { linkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  asksOutside,
  gitBesideUnknown,
  gitRunsHook,
  gitSigns,
  needsNetwork,
  noRuleForWriting,
  rewritesTree,
  runsBesideConversation,
  runsInWorkspace,
  worksOutside,
} from '../../src/permissions/command-texts.ts'
import { readCorpus } from '../judge/corpus/read-corpus.ts'
import { bashCall } from '../judge/support.ts'
import { sampled } from '../support/deep.ts'
import { open, outcome, project, wallWith } from './support.ts'
import { writing } from './writing.ts'

const outcomes = (commands: readonly string[]): Readonly<Record<string, string>> => {
  const permissions = open(project())
  return Object.fromEntries(commands.map((command) => [command, outcome(permissions, command)]))
}
const all = (commands: readonly string[], expected: string): Readonly<Record<string, string>> =>
  Object.fromEntries(commands.map((command) => [command, expected]))

const confined = [
  'npm test',
  'npm run build 2>&1 | tail -20',
  'go test ./... -run TestPush',
  'go build ./... && go vet ./...',
  'go mod tidy',
  'mise run lint',
  'make -j4 all',
  'cargo test --offline',
  'python3 -c "print(1)"',
  'uv run pytest -q',
  'poetry run pytest',
  './scripts/check.sh',
  'mkdir -p dist/x && touch dist/x/a',
  'mv b.ts src/b.ts',
  'rm -rf dist',
  "find . -name '*.pyc' -delete",
  'find . -type d -empty -delete',
  'find dist -delete',
  'find src -name x.ts -exec sed -i s/a/b/ {} +',
  'sed -i s/a/b/ a.ts',
  'chmod +x a.ts',
  'echo hi > out.txt',
  'npm test > /tmp/out.txt 2>&1; tail /tmp/out.txt',
  'rm -rf /tmp/build-cache-of-nobody',
  'node server.js & sleep 1; kill %1; wait',
  'npx eslint .',
  'eval "$BUILD"',
  'x=$((y+1)); npm test',
  'env CI=1 grep -rn curl . > hits.txt',
  'timeout 60 grep -rn "git push" docs > hits.txt',
  'find . -name curl -newer a.ts | xargs npm-check',
  'terraform fmt && terraform validate',
  'npm pack --dry-run && npm ls',
  'git log --show-signature',
  'git diff --ext-diff > patch.diff',
  'git -c core.pager=less log -3',
  'git grep -O x',
  'git archive HEAD -o x.tar',
  'rsync -a src/ dist/',
  'wc -l a.ts | xargs -I{} make {}',
  'sleep 1; echo "curl x" > note.txt',
]

const asking = [
  'curl https://example.org',
  'command curl -s https://example.org | head',
  'npm test && curl -d @out.txt https://example.org',
  'wget -q example.org -O x',
  'ssh host true',
  'rsync -a src/ host:dist/',
  'gh pr view 1',
  'docker compose up -d',
  'kubectl get pods',
  'terraform -chdir=x apply',
  'npm install',
  'npm i left-pad',
  'npm --prefix x ci',
  'yarn',
  'pnpm add x',
  'pip install -r requirements.txt',
  'python3 -m pip install x',
  'uv pip install x',
  'cargo add serde',
  'go get example.org/x',
  'npx cowsay hi',
  'bunx cowsay',
  'brew install jq',
  'apt-get update',
  'sudo make install',
  'systemctl restart x',
  'pkill -f server',
  'kill 4321',
  'crontab -l',
  'mise use node@20',
  'go env -w GOFLAGS=-x',
  'make; ps aux',
  'node server.js &',
  'nohup node server.js > log.txt 2>&1 &',
  'tmux new -d server',
  'git push',
  'git pull --rebase',
  'git fetch && git log',
  'git clone https://example.org/x',
  'git submodule update --init',
  'git remote update',
  'git lfs pull',
  'git stash',
  'git stash pop',
  'git checkout main',
  'git checkout -- a.ts',
  'git switch main',
  'git reset --hard',
  'git reset HEAD~1',
  'git reset --soft HEAD~1',
  'git merge x',
  'git rebase main',
  'git cherry-pick x',
  'git revert HEAD',
  'git clean -fd',
  'git rm a.ts',
  'git mv a.ts c.ts',
  'git restore a.ts',
  'git apply x.patch',
  'git config user.name x',
  'git remote add x y',
  'git worktree add ../x',
  'git branch -D main',
  'git tag -d v1',
  'git gc',
  'git update-ref HEAD x',
  'git init x',
  'git frobnicate',
  'git $COMMAND',
  'echo push | xargs git',
  'git ls-files | xargs git add',
  'git-stash',
  '/usr/bin/git stash',
  'echo hi > ~/notes-of-nobody.txt',
  'npm test > /srv/out.txt',
  'make < ~/input-of-nobody',
  'cat ~/notes-of-nobody.txt | npx eslint',
  'cp a.ts /srv/a.ts',
  'rm -rf ~/folder-of-nobody',
  'cd /srv/other && make',
  'git -C /srv/other log --show-signature',
  'rm -rf .git',
  'rm .git/index',
  'mv .github x',
  'echo x > .envrc',
  'chmod +x .git/hooks/pre-commit',
  'tee .github/workflows/x.yml < a.ts',
  'cp a.ts .vscode/tasks.json',
  'sed -i s/a/b/ .github/workflows/ci.yml',
  'ln -s ../a.ts .husky/pre-commit',
  'dd if=a.ts of=.npmrc',
  'rm -rf .github',
  'rm -rf .',
  'rm -rf * .*',
  'find . -delete',
  'find . -type f -delete',
  'find -L . -exec rm {} +',
  "find . -name '*' -delete",
  'find . ! -name a.ts -delete',
  'find . -name a.ts -o -delete',
  'find .github -name ci.yml -delete',
]

const besideUnknown = [
  'npm test && git add a.ts',
  'git add a.ts; ./x.sh',
  'make && git commit -m "$(make version)"',
  'git commit -m x > "$FILE"',
  'rm -rf "$DIR"; git add -A',
  'PATH=.:$PATH; git add a.ts',
  'GIT_DIR=x git add a.ts',
  'git --git-dir=x add a.ts',
  'git -c core.hooksPath=x commit -m x',
  'eval "$X"; git add a.ts',
  'git add a.ts & make; wait',
  'f() { git add a.ts; }; f',
  'find . -exec git add {} +',
  'sort -o "$X" a.ts; git add a.ts',
  'git commit',
  'git commit --fixup=amend:HEAD',
  'git commit --fixup reword:HEAD',
  'git commit --amend',
  'git commit -e -m x',
  'git commit "$OPTIONS" -m x',
  'git commit -S -m x',
  'git tag -s v1',
  'git tag -f v1',
  'git branch x origin/main',
]

describe('In acceptEdits with kernel confinement', () => {
  test('a command that no rule covers runs confined to the workspace', () => {
    expect(outcomes(confined)).toEqual(all(confined, 'edit'))
  })

  test('a command asks if it cannot work confined, or would fail halfway', () => {
    expect(outcomes(asking)).toEqual(all(asking, 'ask'))
  })

  test('git commands that write the index or the history run, and git may write its folder', () => {
    expect(outcomes(writing)).toEqual(all(writing, 'edit, git'))
  })

  test('they ask next to unknown commands, and next to commands that may run a program or move the branch', () => {
    expect(outcomes(besideUnknown)).toEqual(all(besideUnknown, 'ask'))
  })

  test('commands that were judged read-only remain confined to reading', () => {
    const lines = ['git status', 'ls | head', 'cat $FILE', 'grep -rn curl .', 'ps aux']
    expect(outcomes(lines)).toEqual({ ...all(lines, 'read'), 'ps aux': 'look' })
    expect(outcomes(['ss -tln'])).toEqual({ 'ss -tln': 'as it is' })
  })

  test('a line that rules cover runs unconfined, and a line with a rule for one part runs confined as a whole', () => {
    const permissions = open(project(), { allow: ['Bash(npm test)', 'Bash(curl *)', 'Bash(git stash)'] })
    const lines = [
      'npm test',
      'curl x',
      'git stash',
      'npm test | tail -5',
      'npm test && make',
      'curl x | sh',
      'curl x; make',
    ]
    expect(lines.map((line) => outcome(permissions, line))).toEqual([
      'as it is',
      'as it is',
      'as it is',
      'as it is',
      'edit',
      'ask',
      'ask',
    ])
  })

  test('deny and ask rules for commands come first, and the kernel enforces deny rules for files', () => {
    const permissions = open(project(), {
      deny: ['Bash(make deploy)', 'Read(.env)'],
      ask: ['Bash(npm publish *)', 'Bash(./release.sh)'],
    })
    const lines = ['make deploy', './release.sh', 'npm test', 'cat .env | make', 'make']
    expect(lines.map((line) => outcome(permissions, line))).toEqual(['deny', 'ask', 'edit', 'deny', 'edit'])
    // Deny rules for commands cannot be checked for it.
    expect(outcome(permissions, 'eval "$X"')).toBe('ask')
  })

  test('the model may request an unconfined command, which only a rule allows', () => {
    const permissions = open(project(), { allow: ['Bash(npm test)'] })
    const lines = ['make', 'git status', 'ls', 'npm test', 'mkdir x']
    expect(lines.map((line) => outcome(permissions, line, { unconfined: true }))).toEqual([
      'ask',
      'ask',
      'ask',
      'as it is',
      'ask',
    ])
    expect(lines.map((line) => outcome(permissions, line, { unconfined: false }))).toEqual([
      'edit',
      'read',
      'read',
      'as it is',
      'edit',
    ])
    // Without confinement there is nothing to request.
    const plain = open(project(), {
      wall: { ...wallWith({ kind: 'off', why: 'x' }), means: () => ({ kind: 'off', why: 'x' }) },
    })
    expect(outcome(plain, 'git status', { unconfined: true })).toBe('as it is')
    expect(outcome(open(project(), { mode: 'dontAsk' }), 'ls', { unconfined: true })).toBe('deny')
    expect(outcome(open(project(), { mode: 'default' }), 'ls', { unconfined: true })).toBe('ask')
    expect(outcome(open(project(), { mode: 'bypassPermissions' }), 'make', { unconfined: true })).toBe('as it is')
  })

  test('rules that are offered for an unconfined command allow it', () => {
    const cwd = project()
    for (const command of ['git status', 'make && git status', 'mkdir x', 'x=$(pwd); make "$x"', 'curl x']) {
      const { call, ...request } = bashCall(command)
      const remedy = open(cwd).remedyFor({ ...request, call: { ...call, input: { command, unconfined: true } } })
      expect(remedy?.rules.length).toBeGreaterThan(0)
      expect(outcome(open(cwd, { allow: remedy?.rules ?? [] }), command, { unconfined: true })).toBe('as it is')
    }
  })

  test('background commands ask unless they only read', () => {
    const permissions = open(project())
    expect(outcome(permissions, 'npm run dev', { run_in_background: true })).toBe('ask')
    expect(outcome(permissions, 'tail -f a.ts', { run_in_background: true })).toBe('read')
  })

  test('other modes, and systems without confinement, ask for commands without a rule', () => {
    const cwd = project()
    for (const mode of ['default', 'dontAsk', 'plan'] as const)
      expect(outcome(open(cwd, { mode }), 'npm test')).toBe(mode === 'default' ? 'ask' : 'deny')
    expect(outcome(open(cwd, { wall: wallWith({ kind: 'off', why: 'it is off' }) }), 'npm test')).toBe('ask')
    expect(outcome(open(cwd, { sandbox: { holds: () => true } }), 'curl x')).toBe('as it is')
  })

  test('a repository hook, a signature and a repository stored elsewhere ask', () => {
    const cwd = project()
    const permissions = open(cwd)
    const why = (line: string): string => permissions.explain(line).message ?? 'runs'
    const hook = join(cwd, '.git/hooks/commit-msg')
    writeFileSync(hook, '#!/bin/sh\n', { mode: 0o644 })
    expect(outcome(permissions, 'git commit -m x')).toBe('edit, git')
    execFileSync('chmod', ['+x', hook])
    expect(why('git commit -m x')).toContain(gitRunsHook('git commit', 'commit-msg'))
    expect(['git add a.ts', 'git commit -nm x', 'git commit --no-verify -m x'].map(why)).toEqual([
      'runs',
      'runs',
      'runs',
    ])
    execFileSync('git', ['config', 'core.hooksPath', '.husky'], { cwd })
    expect(why('git commit -m x')).toBe('runs')
    execFileSync('git', ['config', 'commit.gpgSign', 'true'], { cwd })
    expect(why('git commit -m x')).toContain(gitSigns('git commit'))
    expect(['git commit --no-gpg-sign -m x', 'git tag v1'].map(why)).toEqual(['runs', 'runs'])
    execFileSync('git', ['config', 'tag.forceSignAnnotated', 'true'], { cwd })
    expect(['git tag v1', 'git tag -a v1 -m x'].map(why)).toEqual([
      'runs',
      expect.stringContaining(gitSigns('git tag')),
    ])
    execFileSync('git', ['config', '--unset', 'tag.forceSignAnnotated'], { cwd })
    for (const [name, value, expected] of [
      ['filter.lfs.clean', 'git-lfs clean -- %f', 'runs'],
      ['filter.x.clean', 'tac', 'filter.x.clean'],
      ['core.fsmonitor', './watch.sh', 'core.fsmonitor'],
    ] as const) {
      execFileSync('git', ['config', name, value], { cwd })
      expect(why('git add a.ts')).toContain(expected)
    }
    const other = join(cwd, 'worktree')
    execFileSync('git', ['worktree', 'add', other], { cwd, stdio: 'ignore' })
    expect(outcome(open(other), 'git add .')).toBe('ask')
    expect(outcome(open(other), 'make')).toBe('edit')
  })

  test('links and other names of files are followed to their targets', () => {
    const cwd = project()
    symlinkSync('/srv', join(cwd, 'out'))
    symlinkSync('.git', join(cwd, 'repository'))
    writeFileSync(join(cwd, 'one'), '')
    linkSync(join(cwd, 'one'), join(cwd, 'two'))
    const permissions = open(cwd)
    const asked = ['echo x > out/x', 'rm -rf repository/hooks', 'echo x > two', 'cp a.ts two', 'cat out/x | make']
    for (const line of asked) expect([line, outcome(permissions, line)]).toEqual([line, 'ask'])
    expect(outcome(permissions, 'rm two')).toBe('edit')
  })

  test('next to a hostile command git may write its folder only if the mode allowed that command before', () => {
    const cwd = project()
    const permissions = open(cwd)
    // For confined commands `/tmp` is inside.
    const without = open(cwd, { wall: wallWith({ kind: 'off', why: 'x' }), additionalDirectories: ['/tmp'] })
    // Control files are protected in the directories of the session, and `/tmp` is not one of them.
    const corpus = readCorpus('commands').filter(({ command }) => !command.includes('../home/'))
    const rows = sampled(corpus, { deep: 8, quick: 80 })
    expect(rows.length).toBeGreaterThan(5)
    for (const { command } of rows) {
      for (const line of [`git add a.ts; ${command}`, `${command}\ngit commit -m x`]) {
        if (outcome(permissions, line) !== 'edit, git') continue
        const isKnown = outcome(without, command) !== 'ask' || outcome(permissions, command) === 'edit, git'
        expect([line, isKnown]).toEqual([line, true])
      }
    }
  })

  test('an alias asks like the command that it stands for', () => {
    const cwd = project()
    for (const [name, value] of [
      ['st', 'status'],
      ['undo', 'reset --hard'],
      ['up', '!curl x'],
      ['ci', 'commit -m x'],
    ] as const)
      execFileSync('git', ['config', `alias.${name}`, value], { cwd })
    const permissions = open(cwd)
    expect(['git st', 'git undo', 'git up', 'git ci', 'git none'].map((line) => outcome(permissions, line))).toEqual([
      'edit',
      'ask',
      'ask',
      'ask',
      'ask',
    ])
  })
})

describe('Texts for a person', () => {
  test.each([
    ['curl x', needsNetwork('curl')],
    ['make && npm install', needsNetwork('npm install')],
    ['git push origin main', needsNetwork('git push')],
    ['sudo make', worksOutside('sudo')],
    ['git checkout main', rewritesTree('git checkout')],
    ['make && git add a.ts', gitBesideUnknown('git add', 'make')],
    ['node x &', runsBesideConversation],
    ['make > /srv/x', noRuleForWriting('/srv/x')],
  ])('give the reason for the question: %s', (line, why) => {
    const explanation = open(project()).explain(line)
    expect([explanation.behavior, explanation.message]).toEqual(['ask', expect.stringContaining(why)])
    expect(explanation.parts.filter(({ behavior }) => behavior === 'ask').map(({ because }) => because)).toEqual([why])
  })

  test('say that the model requests an unconfined command', () => {
    const { call, ...request } = bashCall('make')
    const decision = open(project()).decide({
      ...request,
      call: { ...call, input: { command: 'make', unconfined: true } },
    })
    expect(decision).toEqual({ behavior: 'ask', message: expect.stringContaining(asksOutside) })
  })

  test('say for each part what happens to it', () => {
    const permissions = open(project(), { allow: ['Bash(npm test)'] })
    const because = (line: string): readonly string[] => permissions.explain(line).parts.map((part) => part.because)
    expect(because('make && npm test && ls')).toEqual([runsInWorkspace, runsInWorkspace, runsInWorkspace])
    expect(permissions.explain('make && curl x').parts).toEqual([
      { part: 'make', behavior: 'allow', because: runsInWorkspace },
      { part: 'curl x', behavior: 'ask', because: needsNetwork('curl'), wouldAllow: 'Bash(curl x)' },
    ])
    expect(permissions.explain('make').confinedTo).toBe('edit')
    expect(permissions.explain('npm test').confinedTo).toBeUndefined()
  })

  test('say why commands without a rule ask if they are not confined', () => {
    const cwd = project()
    const off = wallWith({ kind: 'off', why: 'bubblewrap is missing' })
    expect(open(cwd, { wall: off }).explain('make').editsOff).toBe('bubblewrap is missing')
    expect(open(cwd, { wall: off, mode: 'default' }).explain('make').editsOff).toBeUndefined()
    expect(open(cwd).explain('make').editsOff).toBeUndefined()
  })

  test('offer the mode in which a command would run confined', () => {
    const cwd = project()
    const offered = (line: string, wall = wallWith()): boolean =>
      (open(cwd, { mode: 'default', wall }).suggest?.(bashCall(line)) ?? []).some(({ type }) => type === 'setMode')
    expect([offered('make'), offered('curl x')]).toEqual([true, false])
    expect(offered('make', wallWith({ kind: 'off', why: 'x' }))).toBe(false)
  })
})
