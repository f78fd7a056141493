// Holds R-WALL-1 of docs/spec for `acceptEdits`: a tree is never left half changed, no process continues, and nothing
// runs twice.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampled } from '../support/deep.ts'
import { type BashRun, canConfineEdits, openEditSession } from './edit-session.ts'
import { changesBetween, folderForMachines, lookAt, Restorable } from './machine.ts'

/**
 * A repository whose branches differ in files that are obeyed later and in others, before and after them in the order
 * in which git writes.
 */
const script = `
  git init -q --template= -b main .
  mkdir -p .github/workflows .vscode .husky aaa zzz nested .cargo
  put() { for f in .gitattributes .github/workflows/ci.yml .vscode/settings.json .husky/pre-commit .envrc .npmrc .cargo/config.toml aaa/file zzz/file file; do echo "# $1 $f" > $f; done; }
  put one; echo '{"name":"x","scripts":{"go":"sh ./op.sh"}}' > package.json; printf 'go:\\n\\t@sh ./op.sh\\n' > Makefile; printf 'op.sh\\n' > .gitignore
  git add -A; git commit -qm one
  git checkout -q -b topic; put two; echo t > aaa/topic; echo t > zzz/topic; git add -A; git commit -qm two
  git checkout -q main; echo three > other; git add -A; git commit -qm three; put four; git commit -qam four
  git diff main topic > ../change.patch; git format-patch -q --stdout main~1..main > ../mail.patch; git diff main~1 main > ../back.patch
  git clone -q . ../remote; git remote add origin ../remote; git fetch -q
  (cd nested; git init -q --template= -b main .; mkdir .vscode; echo 1 > .vscode/s; echo 1 > f; git add -A; git commit -qm 1; git checkout -q -b topic; echo 2 > .vscode/s; echo 2 > f; git commit -qam 2; git checkout -q main)
  echo nested >> .gitignore; git commit -qam ignore
  cp ../*.patch .git/
  put dirty; echo untracked > untracked; mkdir -p aaa/new; echo u > aaa/new/u; echo untracked > .exrc`

/** Git operations that write more than one file. */
const operations = `
  git stash
  git stash -u
  git stash push -- aaa .vscode zzz
  git checkout -f topic
  git checkout -- .
  git checkout topic -- .
  git switch -f topic
  git switch --discard-changes topic
  git reset --hard
  git reset --hard HEAD~2
  git restore .
  git restore --source=topic --staged --worktree .
  git stash && git merge topic
  git commit -qam x && git merge -X theirs topic
  git commit -qam x && git rebase topic
  git commit -qam x && git cherry-pick -X theirs topic
  git commit -qam x && git revert --no-edit HEAD
  git commit -qam x && git checkout topic
  git pull -q --rebase --autostash origin topic
  git read-tree -u --reset topic
  git read-tree -u -m HEAD topic
  git sparse-checkout set --no-cone /aaa/
  git rm -rqf .
  git mv aaa bbb
  git am -q .git/mail.patch
  git apply --index .git/back.patch
  git bisect start HEAD HEAD~3
  git worktree add -q wt topic
  git -C nested checkout -q topic
  git -C nested reset -q --hard topic
  cd nested && git stash && git checkout topic
  git submodule add ./nested sub
  git filter-branch -f --tree-filter true
  git commit -qam x --amend
  git update-index --refresh; git checkout -f -q topic`
  .trim()
  .split(/\n\s*/)

/** Programs that write files one by one without a lock: they stop at a protected file, as at any unwritable file. */
const withoutLock = `
  git clean -fdxq
  git checkout-index -fa
  git apply -R .git/back.patch
  patch -p1 -R < .git/back.patch
  git archive topic | tar x`
  .trim()
  .split(/\n\s*/)

/** Ways to run a line without its words in the call. */
const disguises: Readonly<Record<string, (line: string) => string>> = {
  'a script': () => 'sh ./op.sh',
  make: () => 'make -s go',
  npm: () => 'npm run -s go',
  python: () => `python3 -c 'import subprocess; subprocess.run(["sh", "op.sh"])'`,
  node: () => `node -e 'require("child_process").spawnSync("sh", ["op.sh"], { stdio: "inherit" })'`,
  perl: () => `perl -e 'system("sh", "op.sh")'`,
  find: () => 'find op.sh -exec sh {} \\;',
  'a variable': (line) => `x='${line.replaceAll("'", `'"'"'`)}'; sh -c "$x"`,
  'a pipe': () => 'cat op.sh | sh',
}

const outerHome = process.env['HOME']
let base = ''
let files: Restorable | undefined
beforeAll(() => {
  if (!canConfineEdits) return
  base = realpathSync(mkdtempSync(join(folderForMachines(), 'half-')))
  execFileSync('mkdir', ['-p', join(base, 'all/project'), join(base, 'all/home/.halting')])
  const options = {
    cwd: join(base, 'all/project'),
    env: environment(),
    stdio: 'ignore',
  } as const
  execFileSync(
    'bash',
    ['-ec', `git config --global user.name A; git config --global user.email a@example.org\n${script}`],
    options,
  )
  files = new Restorable(join(base, 'all'))
}, 60_000)
afterAll(() => {
  process.env['HOME'] = outerHome
  if (base !== '') rmSync(base, { recursive: true, force: true })
})

function environment(): Readonly<Record<string, string>> {
  const date = '2024-01-01T00:00:00Z'
  const path = process.env['PATH'] ?? '/usr/bin:/bin'
  return {
    PATH: path,
    HOME: join(base, 'all/home'),
    LANG: 'C.UTF-8',
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_DATE: date,
    GIT_CONFIG_NOSYSTEM: '1',
  }
}

/** The tree, the index and the branch, without times and unreachable objects. */
function stateOf(): string {
  const project = join(base, 'all/project')
  const git = (...args: string[]): string =>
    spawnSync('git', args, { cwd: project, env: environment(), encoding: 'utf8' }).stdout
  const plain = [...lookAt(project)].filter(([path]) => !/(?:^|\/)\.git(?:$|\/)/.test(path) && path !== 'op.sh')
  const of = (list: readonly (readonly [string, string])[]): string =>
    list
      .map(([path, what]) => `${path} ${what.replace(/ \d+(?:\.\d+)? (\w{40})$/, ' $1')}`)
      .toSorted()
      .join('\n')
  return [
    of(plain),
    git('status', '--porcelain', '--ignored', '--branch').replace('!! op.sh\n', ''),
    git('ls-files', '-s'),
    git('rev-parse', 'HEAD'),
    git('-C', 'nested', 'status', '--porcelain', '--branch'),
  ].join('\n--\n')
}

/** A line prints it once per run. */
const mark = 'it-runs-now'
const marked = (line: string): string => `echo it-runs-''now; ${line}`

/** Runs a line in a fresh project. */
async function runFresh(
  line: string,
  operation: string,
  isConfined: boolean,
): Promise<{
  readonly run: BashRun
  readonly state: string
  /** The files when it had ended, before a git command inspected them. */
  readonly after: ReadonlyMap<string, string>
  readonly times: number
}> {
  files?.restore()
  const [cwd, home] = [join(base, 'all/project'), join(base, 'all/home')]
  execFileSync('bash', ['-c', 'printf "%s\\n" "$1" > op.sh', 'bash', operation], { cwd })
  process.env['HOME'] = home
  const session = openEditSession({ cwd, home, env: environment(), isConfined, timeoutMs: 30_000 })
  try {
    const run = await session.run(line)
    const after = lookAt(join(base, 'all'))
    return { run, after, state: stateOf(), times: run.output.split(mark).length - 1 }
  } finally {
    await session.dispose()
    process.env['HOME'] = outerHome
  }
}

interface Outcome {
  readonly what: string
  readonly came: 'asked' | 'before' | 'after' | 'between'
  readonly times: number
}

async function outcomesOf(
  list: readonly string[],
  step: { readonly deep: number; readonly quick: number },
): Promise<readonly Outcome[]> {
  files?.restore()
  const before = stateOf()
  const pairs = list.flatMap((operation) =>
    Object.entries(disguises).map(([name, disguise]) => ({ operation, name, line: disguise(marked(operation)) })),
  )
  const afters = new Map<string, string>()
  const found: Outcome[] = []
  for (const { operation, name, line } of sampled(pairs, step)) {
    const what = `${operation} by ${name}`
    const { run, state, times } = await runFresh(line, marked(operation), true)
    if (run.decision !== 'allow' || state === before) {
      found.push({ what, came: run.decision === 'allow' ? 'before' : 'asked', times })
      continue
    }
    if (!afters.has(operation)) afters.set(operation, (await runFresh('sh ./op.sh', operation, false)).state)
    found.push({ what, came: state === afters.get(operation) ? 'after' : 'between', times })
  }
  return found
}

const count = (all: readonly Outcome[], came: Outcome['came']): number =>
  all.filter((each) => each.came === came).length

describe.skipIf(!canConfineEdits)('An operation of git in acceptEdits (needs bubblewrap)', () => {
  test('leaves the tree as it was, or as it is afterwards, however it is hidden', async () => {
    const all = await outcomesOf(operations, { deep: 10, quick: 80 })
    console.log(
      `${all.length} hidden operations: ${count(all, 'before')} change nothing, ${count(all, 'after')} are done, ${count(all, 'asked')} ask, ${count(all, 'between')} are half done`,
    )
    expect(
      all
        .filter(({ came }) => came === 'between')
        .map(({ what }) => what)
        .join('\n'),
    ).toBe('')
    expect(all.filter(({ times }) => times > 1)).toEqual([])
  }, 3_600_000)

  test('that takes no lock runs once, and changes neither its index, its branch nor files obeyed later', async () => {
    for (const operation of sampled(withoutLock, { deep: 1, quick: 5 })) {
      const { run, after, times } = await runFresh('sh ./op.sh', marked(operation), true)
      expect([operation, run.kind, times]).toEqual([operation, 'edit', 1])
      const changed = changesBetween(files?.before ?? new Map(), after)
      const obeyed =
        /^project\/(?:nested\/)?(?:\.git|\.github\/workflows|\.vscode|\.husky|\.envrc|\.npmrc|\.cargo\/config\.toml|\.exrc|\.gitattributes)(?:$|\/)/
      expect([operation, changed.filter((path) => obeyed.test(path))]).toEqual([operation, []])
      expect([
        operation,
        changed.filter((path) => !path.startsWith('project/') && !path.startsWith('home/.halting')),
      ]).toEqual([operation, []])
    }
  }, 600_000)

  test('leaves no process behind, and none that a later line meets', async () => {
    const nap = `${process.pid}.25`
    const lines = [
      `sleep ${nap} & disown; echo done`,
      `(setsid nohup sleep ${nap} > /dev/null 2>&1 &) ; echo done`,
      `python3 -c 'import os, subprocess; os.fork() or (os.setsid(), os.execvp("sleep", ["sleep", "${nap}"]))'; echo done`,
      `perl -e 'fork or exec "sleep", "${nap}"'; echo done`,
      `coproc sleep ${nap}; echo done`,
      `sh -c 'trap "" HUP TERM; sleep ${nap} & echo done'`,
    ]
    for (const line of lines) {
      // In the call itself it would ask.
      const { run } = await runFresh('bash ./op.sh', line, true)
      expect([line, run.kind, run.output.includes('done')]).toEqual([line, 'edit', true])
      expect([
        line,
        spawnSync('pgrep', ['-fx', `sleep ${nap.replace('.', '[.]')}`], { encoding: 'utf8' }).stdout,
      ]).toEqual([line, ''])
    }
  }, 120_000)
})
