// Holds R-RULE-7a, R-RULE-7p and R-RULE-7r of docs/spec: with any `.git`, git without a rule runs no program, writes nothing and shows nothing from
// outside. Each hostile `.git` is judged for every reading command, and allowed commands are run.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { gitHardening } from '../../src/git/git-environment.ts'
import { isWhole } from '../support/deep.ts'
import { judged } from './support.ts'
import { environmentIn, isBubblewrapThere, makeWorld, type Outcome, removeWorld, runMany, type World } from './world.ts'

const lines = readFileSync(new URL('corpus/friction.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => /^git (?!-)/.test(line) && !/\b(?:add|commit|push)\b/.test(line))
const commands = [
  ...lines,
  'git log --all -p',
  'git log -g',
  'git log --use-mailmap -2',
  'git status -vv',
  'git status --ignored -uall',
  'git worktree list --porcelain',
  'git worktree list -v',
  'git rev-parse FETCH_HEAD ORIG_HEAD MERGE_HEAD hooks/x x',
  'git rev-parse --git-path config --git-common-dir --show-toplevel',
  'git show-ref',
  'git for-each-ref --format="%(refname) %(contents) %(upstream)"',
  'git cat-file -p x',
  'git show x',
  'git check-attr -a a.ts',
  'git check-ignore -v --no-index b.ts a.ts',
  'git ls-files -o',
  'git ls-files -m --eol',
  'git grep -n OUTSIDE',
  'git grep --untracked OUTSIDE',
  'git stash show -p',
  'git config --list --show-origin',
  'git count-objects -v',
  'git describe --all --long',
  'git -C src status',
  'git -C sub log -p',
  'cd sub && git diff HEAD',
]

interface Hostile {
  readonly name: string
  readonly setup: string
}

/** Another repository, and files as they occur in a `.git`. */
const other = `
  git init -q --template= -b CANARY-BRANCH ../outside/repo; cd ../outside/repo
  echo CANARY-OUTSIDE > CANARY-NAME; git add .; git commit -q -m CANARY-MESSAGE; git tag -a -m CANARY-TAG CANARY-TAG; git branch x
  git config branch.x.description CANARY-OUTSIDE; git update-ref refs/heads/main HEAD; git update-ref refs/stash HEAD; git update-ref refs/notes/commits HEAD
  git worktree add -q --detach ../w; cd ../../project
  mkdir -p .git/info`

const files = (
  'HEAD config config.worktree description index packed-refs shallow commondir gitdir FETCH_HEAD ORIG_HEAD MERGE_HEAD MERGE_MSG MERGE_MODE CHERRY_PICK_HEAD REVERT_HEAD BISECT_START ' +
  'BISECT_LOG AUTO_MERGE SQUASH_MSG COMMIT_EDITMSG info/attributes info/exclude info/grafts info/sparse-checkout info/refs objects/info/alternates objects/info/http-alternates ' +
  'objects/info/packs objects/info/commit-graph objects/info/commit-graphs/commit-graph-chain objects/pack/multi-pack-index logs/HEAD logs/refs/heads/main logs/refs/stash refs/heads/main ' +
  'refs/heads/x refs/tags/t refs/stash refs/notes/commits refs/remotes/o/HEAD rebase-merge/done rebase-merge/git-rebase-todo rebase-merge/head-name rebase-merge/onto rebase-apply/next ' +
  'rebase-apply/last rebase-apply/head-name sequencer/todo worktrees/w/HEAD worktrees/w/gitdir worktrees/w/commondir worktrees/w/locked worktrees/w/index modules/m/config remotes/origin ' +
  'branches/origin hooks/x rr-cache/x/preimage reftable/tables.list x'
).split(' ')

const folders =
  'info objects objects/info objects/pack refs refs/heads refs/tags refs/stash logs logs/refs rebase-merge rebase-apply sequencer worktrees worktrees/w modules hooks lfs .'.split(
    ' ',
  )

const ways: readonly (readonly [name: string, make: (file: string) => string])[] = [
  ['a link to that of another repository', (file) => `ln -sfn "$W/outside/repo/.git/${file}" ".git/${file}"`],
  ['a link to a file', (file) => `ln -sfn "$W/outside/x" ".git/${file}"`],
  ['a hard link to a file', (file) => `ln -f "$W/outside/x" ".git/${file}"`],
  ['that of another repository by its path', (file) => `printf '%s\\n' "$W/outside/repo/.git" > ".git/${file}"`],
  [
    'a reference to what is elsewhere',
    (file) => `ln -sfn "$W/outside/repo/.git/HEAD" .git/y; echo 'ref: y' > ".git/${file}"`,
  ],
]

const parentOf = (file: string): string => `mkdir -p ".git/$(dirname ${file})"; rm -rf ".git/${file}"`

const ofFiles: readonly Hostile[] = files.flatMap((file) =>
  ways.map(([way, make]) => ({ name: `${file}: ${way}`, setup: `${parentOf(file)}; ${make(file)}` })),
)

const ofFolders: readonly Hostile[] = folders.map((folder) => ({
  name: `${folder}: a link to that of another repository`,
  setup: `${folder === '.' ? 'rm -rf .git' : parentOf(folder)}; ln -sfn "$W/outside/repo/.git/${folder}" ".git${folder === '.' ? '' : `/${folder}`}"`,
}))

const evilKeys =
  'core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy core.alternateRefsCommand diff.external diff.x.textconv diff.x.command filter.x.clean filter.x.smudge filter.x.process gpg.program gpg.ssh.program credential.helper pager.log pager.status pager.diff sequence.editor interactive.diffFilter uploadpack.packObjectsHook remote.o.uploadpack remote.o.vcs trailer.x.command merge.x.driver alias.status alias.log man.x.cmd browser.x.cmd difftool.x.cmd guitool.x.cmd hook.x.command'.split(
    ' ',
  )
const pathKeys =
  'core.worktree core.attributesFile core.excludesFile core.hooksPath blame.ignoreRevsFile mailmap.file diff.orderFile include.path commit.template gpg.ssh.allowedSignersFile core.notesRef'.split(
    ' ',
  )

const attributes = `echo '*.ts filter=x diff=x merge=x' > .gitattributes; touch a.ts; mkdir hooks; for h in post-index-change reference-transaction; do cp evil hooks/$h; done`

/** As git writes it, and in spellings that only git accepts. */
const spellings: readonly ((key: string, value: string) => string)[] = [
  (key, value) => `git config ${key} "${value}"`,
  (key, value) => {
    const [, section = '', part, name = ''] = /^([^.]+)(?:\.(.*))?\.([^.]+)$/.exec(key) ?? []
    const head = part === undefined ? section.toUpperCase() : `${section.toUpperCase()} \\"${part}\\"`
    return `printf '%b' "[${head}]${name.toUpperCase()}\\t=\\t\\"${value.slice(0, 3)}\\"\\\\\\\\\\n\\"${value.slice(3)}\\" ; x\\r\\n" >> .git/config`
  },
]

const ofSettings: readonly Hostile[] = spellings.flatMap((spell, at) => [
  ...evilKeys.map((key) => ({ name: `${key} (${at})`, setup: `${attributes}; ${spell(key, '$W/project/evil')}` })),
  ...pathKeys.map((key) => ({ name: `${key} (${at})`, setup: `${attributes}; ${spell(key, '$W/outside/x')}` })),
  { name: `core.worktree outside (${at})`, setup: spell('core.worktree', '$W/outside') },
  { name: `core.hooksPath (${at})`, setup: `${attributes}; ${spell('core.hooksPath', '$W/project/hooks')}` },
  {
    name: `a filter of a file that is missing (${at})`,
    setup: `${spell('remote.o.partialCloneFilter', 'blob:none')}; git config remote.o.url ssh://h/x; git config core.sshCommand "$W/project/evil"; o=$(git rev-parse HEAD:b.ts); rm -f .git/objects/\${o:0:2}/\${o:2}`,
  },
])

const inIndex = (from: string, to: string, more = 'true'): string =>
  `mkdir -p "${from.replace(/\/[^/]*$/, '')}"; echo C > "${from}"; git add "${from}"; ${more}; LC_ALL=C sed -i "s#${from}#${to}#g" .git/index .git/sharedindex.* 2>/dev/null || true`

const ofOthers: readonly Hostile[] = [
  { name: 'the index: above', setup: inIndex('zz/outside/x', '../outside/x') },
  { name: 'the index: above, in version 4', setup: inIndex('zz/outside/x', '../outside/x', 'git update-index --index-version 4') },
  { name: 'the index: above, shared', setup: inIndex('zz/outside/x', '../outside/x', 'git update-index --split-index') },
  { name: 'the index: from the root', setup: inIndex('zzz${W:3}/outside/x', '${W}/outside/x') },
  { name: 'the index: through a link', setup: 'mkdir t; echo C > t/x; git add t; rm -r t; ln -s ../outside t' },
  { name: 'the index: through a link deeper', setup: 'mkdir -p t/u/v; echo C > t/u/v/x; git add t; rm -r t/u; mkdir -p ../outside/v; echo CANARY-OUTSIDE > ../outside/v/x; ln -s ../../outside t/u' },
  { name: 'a .git that is incomplete', setup: `mkdir -p sub/.git; ${attributes}; git config diff.external "$PWD/evil"` },
  { name: 'a .git with a bad HEAD', setup: `git init -q --template= sub; echo > sub/.git/HEAD; ${attributes}; git config diff.external "$PWD/evil"` },
  { name: 'a .git file', setup: 'echo "gitdir: $W/outside/repo/.git" > sub/.git' },
  { name: 'a .git file, relative', setup: 'echo "gitdir: ../../outside/repo/.git" > sub/.git' },
  { name: 'a .git file of a work tree', setup: 'echo "gitdir: $W/outside/repo/.git/worktrees/w" > sub/.git' },
  { name: 'a .git file with a common folder', setup: 'mkdir src/gd; echo "ref: refs/heads/main" > src/gd/HEAD; echo "$W/outside/repo/.git" > src/gd/commondir; echo "$PWD/sub/.git" > src/gd/gitdir; echo "gitdir: ../src/gd" > sub/.git' },
  { name: 'a .git file through a link', setup: 'git init -q --template= sub; mv sub/.git src/gd; git config -f src/gd/config core.worktree "$PWD/sub"; ln -s ../../outside/repo/.git sub/l; echo "gitdir: l/../.git" > sub/.git' },
  { name: 'a bare repository by HEAD and commondir', setup: 'cp .git/HEAD sub; echo "$W/outside/repo/.git" > sub/commondir' },
  { name: 'a bare repository', setup: 'cp -r .git/. sub; git -C sub config core.bare true; git -C sub config diff.external "$PWD/evil"' },
  { name: 'a replaced commit of another repository', setup: 'mkdir -p .git/refs/replace .git/objects/info; git -C ../outside/repo rev-parse HEAD > .git/refs/replace/$(git rev-parse HEAD); echo "$W/outside/repo/.git/objects" > .git/objects/info/alternates' },
  { name: '.gitmodules', setup: `printf '[submodule "../CANARY-OUTSIDE"]\\n\\tpath = x\\n' > ../outside/gm; ln -s ../outside/gm .gitmodules` },
  { name: 'attributes behind a link', setup: 'mkdir t; echo C > t/x; git add t; rm -r t; mkdir ../outside/a; echo "* CANARY-OUTSIDE" > ../outside/a/.gitattributes; ln -s ../outside/a t' },
  { name: 'a submodule of another repository', setup: 'git -c protocol.file.allow=always clone -q ../outside/repo sub 2>/dev/null; git add sub; rm -rf sub/.git; echo "gitdir: $W/outside/w/.git" > sub/.git' },
] // prettier-ignore

const every: readonly Hostile[] = [...ofFiles, ...ofFolders, ...ofSettings, ...ofOthers]

const outerHome = process.env['HOME']
afterAll(() => {
  process.env['HOME'] = outerHome
})

async function inWorld<T>({ setup }: Hostile, work: (world: World) => Promise<T>): Promise<T> {
  const world = makeWorld()
  try {
    process.env['HOME'] = world.home
    execFileSync('bash', ['-ec', `${other}\n${setup}`], {
      cwd: world.project,
      stdio: 'ignore',
      env: { ...environmentIn(world), W: world.root },
    })
    return await work(world)
  } finally {
    removeWorld(world)
  }
}

/** `.env` is a file of the project. git writes times of files into the index. */
function harmOf({ printed, changed }: Outcome): string | undefined {
  const shown = /CANARY-(?!DENIED)[A-Z]+/.exec(printed)?.[0]
  if (shown !== undefined) return shown
  const left = changed.filter((path) => !/^project\/\.git(?:\/(?:shared)?index[.\w]*)?$/.test(path))
  return left.length === 0 ? undefined : `changed ${left.join(' ')}`
}

/** The harm of each command that was wrongly allowed. */
async function harmIn(
  world: World,
  commands: readonly string[],
  lets: (command: string) => boolean,
  isHardened: boolean,
): Promise<readonly string[]> {
  const through = commands.map((command) => (isHardened ? command : `${command}; make test`)).filter(lets)
  if (through.length === 0) return []
  const outcomes = await runMany(world, through, isHardened ? gitHardening() : {})
  return outcomes.flatMap((outcome, at) => {
    const harm = harmOf(outcome)
    return harm === undefined ? [] : [`${through[at]}: ${harm}`]
  })
}

describe.skipIf(!isBubblewrapThere)('a hostile .git (needs bubblewrap)', () => {
  const step = isWhole ? 1 : 288
  const drawnOnes = every.filter((_, at) => at % step === 0)
  /** A different part of the commands each time. */
  const commandsFor = (at: number): readonly string[] => commands.filter((_, place) => (place + at) % step === 0)

  test(`does no harm without a rule (${drawnOnes.length} of ${every.length})`, async () => {
    const found: string[] = []
    for (const [at, hostile] of drawnOnes.entries()) {
      const some = commandsFor(at)
      const harm = await inWorld(hostile, async (world) => [
        ...(await harmIn(world, some, (command) => judged(command, { cwd: world.project }) === 'allow', true)),
        ...(await harmIn(
          world,
          some,
          (command) => judged(command, { cwd: world.project, allow: ['Bash(make test)'] }) === 'allow',
          false,
        )),
      ])
      found.push(...harm.map((line) => `${hostile.name}: ${line}`))
    }
    expect(found).toEqual([])
  }, 1_800_000)

  // Some of each kind, in every spelling.
  const harmful = [
    'info/grafts: a link to a file',
    'packed-refs: a hard link to a file',
    'commondir: that of another repository by its path',
    'refs: a link to that of another repository',
    'core.fsmonitor (0)',
    'core.fsmonitor (1)',
    'core.worktree outside (1)',
    'filter.x.clean (1)',
    'the index: above, in version 4',
    'a .git that is incomplete',
  ]

  test.each(every.filter(({ name }) => harmful.includes(name)))(
    'does harm if nobody judges it: $name',
    async (hostile) => {
      expect(await inWorld(hostile, (world) => harmIn(world, commands, () => true, false))).not.toEqual([])
    },
    600_000,
  )

  test('does not cause questions in a harmless repository', async () => {
    const asked = await inWorld({ name: '', setup: '' }, async (world) =>
      commands.filter((command) => judged(command, { cwd: world.project }) !== 'allow'),
    )
    expect(asked).toEqual([])
  })
})
