import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BashRun, openEditSession } from '../edit-session.ts'
import type { Project, Row } from './project.ts'

const repository = fileURLToPath(new URL('../../../../../', import.meta.url))
/** Programs that query a server must not wait longer than this, on a busy machine. */
const longestMs = 20_000

/** The results of a command that ran twice. */
export interface Compared {
  readonly row: Row
  readonly free: Outcome
  readonly held: Outcome
  /** The differences in words; empty if there are none. */
  readonly differences: readonly string[]
}

interface Outcome extends BashRun {
  readonly shown: string
  readonly status: string
  readonly files: ReadonlyMap<string, string>
}

/** Programs of a project that this machine lacks. */
export function missingPrograms({ needs }: Project): readonly string[] {
  return needs.filter((name) => spawnSync('bash', ['-c', `PATH=${path}; command -v ${name}`]).status !== 0)
}

/** Only programs of the system: those of a version manager need a home folder. */
const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`

/** A folder for one project, which is restored before each command. Not below `/tmp`. */
export class Place {
  readonly base: string
  readonly project: string
  readonly home: string
  readonly #kept: readonly string[]
  readonly #env: Readonly<Record<string, string>>

  constructor({ script, install = '', kept = [] }: Project, isWhole: boolean) {
    const parent = join(homedir(), '.cache/halting-tests')
    mkdirSync(parent, { recursive: true })
    this.base = realpathSync(mkdtempSync(join(parent, 'equal-')))
    chmodSync(this.base, 0o755)
    this.project = join(this.base, 'project')
    this.home = join(this.base, 'home')
    this.#kept = kept
    this.#env = environmentIn(this.home)
    for (const folder of [this.project, join(this.home, '.halting'), join(this.base, 'beside')])
      mkdirSync(folder, { recursive: true })
    const options = {
      cwd: this.project,
      env: { ...this.#env, REPOSITORY: repository },
      stdio: 'ignore',
    } as const
    execFileSync('bash', ['-ec', `${personal}\n${isWhole ? install : ''}\n${script}`], options)
    for (const name of ['project', 'home', 'beside'])
      execFileSync('bash', ['-ec', this.#copyOut(name)], { cwd: this.base })
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true, maxRetries: 3 })
  }

  /** Runs a command unconfined and confined, each on the same files. */
  async compare(row: Row): Promise<Compared> {
    const held = await this.#runIn(row, true)
    // Whether a server responds here is irrelevant: programs that need one must fail.
    if (row.reaches === true) return { row, free: held, held, differences: held.exitCode === 0 ? [] : ['it fails'] }
    if (held.decision !== 'allow') return { row, free: held, held, differences: [] }
    const free = await this.#runIn(row, false)
    return { row, free, held, differences: differencesOf(free, held) }
  }

  async #runIn({ command, mask }: Row, isConfined: boolean): Promise<Outcome> {
    this.#restore()
    const { project: cwd, home } = this
    // Rules expand `~` with it.
    const outer = process.env['HOME']
    process.env['HOME'] = home
    const session = openEditSession({ cwd, home, env: this.#env, isConfined, timeoutMs: 60_000 })
    try {
      const run = await session.run(command)
      const shown = masked(run.output, mask)
      return { ...run, shown, status: this.#status(), files: filesIn(this.project, this.#kept) }
    } finally {
      await session.dispose()
      process.env['HOME'] = outer
    }
  }

  #status(): string {
    const { stdout } = spawnSync('git', ['status', '--ignored', '--porcelain'], {
      cwd: this.project,
      env: this.#env,
      encoding: 'utf8',
    })
    return stdout
  }

  #copyOut(name: string): string {
    return `mkdir -p template/${name}; cd ${name}; for f in .[!.]* *; do case " ${this.#keptIn(name).join(' ')} " in *" $f "*) ;; *) [ ! -e "$f" ] && [ ! -L "$f" ] || cp -a "$f" ../template/${name}/ ;; esac; done`
  }

  #keptIn(name: string): readonly string[] {
    return name === 'project' ? this.#kept : name === 'home' ? ['.cache', 'go', '.npm'] : []
  }

  #restore(): void {
    for (const name of ['project', 'home', 'beside']) {
      const kept = this.#keptIn(name)
      for (const each of readdirSync(join(this.base, name)))
        if (!kept.includes(each)) rmSync(join(this.base, name, each), { recursive: true, force: true, maxRetries: 3 })
    }
    for (const name of this.#kept)
      for (const cache of ['.vite', '.cache']) rmSync(join(this.project, name, cache), { recursive: true, force: true })
    execFileSync('cp', [
      '-a',
      ...['project', 'home', 'beside'].map((name) => join(this.base, 'template', name)),
      this.base,
    ])
  }
}

/** The contents of a user's home folder, including keys. */
const personal = `
  printf '[user]\\n\\tname = A\\n\\temail = a@example.org\\n[init]\\n\\tdefaultBranch = main\\n[protocol "file"]\\n\\tallow = always\\n' > ~/.gitconfig
  mkdir -p ~/.ssh ~/.config; echo key > ~/.ssh/id; echo 'alias ll=ls' > ~/.bashrc; echo beside > "$HOME/../beside/file"`

/** The same dates in each commit, and the same seed of each hash. */
function environmentIn(home: string): Readonly<Record<string, string>> {
  const date = '2024-01-01T00:00:00Z'
  return {
    PATH: path,
    HOME: home,
    USER: 'somebody',
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    PYTHONHASHSEED: '0',
    SOURCE_DATE_EPOCH: '1700000000',
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_DATE: date,
    NO_COLOR: '1',
    npm_config_update_notifier: 'false',
    GOFLAGS: '-trimpath',
  }
}

/** Times, process ids in words, addresses and names of temporary files differ each time. */
function masked(text: string, mask: RegExp | undefined): string {
  const own = mask === undefined ? text : text.replaceAll(mask, '…')
  return own
    .replaceAll(/\b\d+(?:\.\d+)?(?:e[-+]\d+)?\s?(?:ms|µs|ns|s)\b/g, 'TIME')
    .replaceAll(/\b\d+m\d+(?:\.\d+)?s\b/g, 'TIME')
    .replaceAll(/(?:duration_ms:? |\b)\d+(?:\.\d+)?(?= [nu]sec per loop|$)/gm, (found) =>
      /duration|\./.test(found) ? 'TIME' : found,
    )
    .replaceAll('(cached)', 'TIME')
    .replaceAll(/(?:\/tmp|\$TMPDIR)\/[\w./-]+/g, '/tmp/NAME')
    .replaceAll(/0x[0-9a-f]{4,}/g, '0xADDRESS')
    .replaceAll(/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, 'CLOCK')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d_:.]+Z-debug-\d+\.log/g, 'LOG')
}

/** Times in output of git and programs: stat data in an index, durations in results. */
const changing = /(?:^|\/)(?:index|index\.lock|results\.json)$|\.pytest_cache\/v\/cache\/|\.git\/.*(?:\/gc\.log)$/

function filesIn(root: string, kept: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const look = (folder: string): void => {
    for (const name of readdirSync(folder)) {
      const place = join(folder, name)
      const shown = relative(root, place)
      if (kept.includes(shown) || changing.test(shown)) continue
      const stats = lstatSync(place)
      const mode = (stats.mode & 0o7777).toString(8)
      if (stats.isDirectory()) {
        found.set(shown, `folder ${mode}`)
        look(place)
      } else if (stats.isSymbolicLink()) found.set(shown, `link ${readlinkSync(place)}`)
      else found.set(shown, stats.isFile() ? `file ${mode} ${hashOf(place)}` : 'special')
    }
  }
  if (existsSync(root)) look(root)
  return found
}

function hashOf(place: string): string {
  return createHash('sha1').update(readFileSync(place)).digest('hex')
}

function differencesOf(free: Outcome, held: Outcome): readonly string[] {
  const names = [...new Set([...free.files.keys(), ...held.files.keys()])].filter(
    (name) => free.files.get(name) !== held.files.get(name),
  )
  return [
    ...(free.exitCode === held.exitCode ? [] : [`exit code ${free.exitCode} → ${held.exitCode}`]),
    ...(free.shown === held.shown ? [] : [`output:\n    ${firstDifference(free.shown, held.shown)}`]),
    ...(free.status === held.status ? [] : [`git status:\n    ${firstDifference(free.status, held.status)}`]),
    ...(names.length === 0
      ? []
      : [`files: ${names.slice(0, 8).join(' ')}${names.length > 8 ? ` and ${names.length - 8} more` : ''}`]),
  ]
}

function firstDifference(one: string, other: string): string {
  const [before, after] = [one.split('\n'), other.split('\n')]
  const at = before.findIndex((line, place) => line !== after[place])
  const place = at < 0 ? before.length : at
  return `${(before[place] ?? '(nothing)').slice(0, 200)}\n  → ${(after[place] ?? '(nothing)').slice(0, 300)}`
}

/** A line about a command that did not come out as its row says; undefined where it did. */
export function complaintAbout({ row, held, free, differences }: Compared): string | undefined {
  const { command, asks, differs, reaches } = row
  const say = (what: string): string => `${command}\n  ${what}`
  if (asks === true)
    return held.decision === 'ask'
      ? undefined
      : say(`runs (${held.kind ?? 'unconfined'}), and its row says that it asks`)
  if (held.decision !== 'allow') return say(`asks: ${held.why}`)
  if (held.kind === undefined) return say('runs unconfined')
  if (reaches === true && held.ms > longestMs) return say(`takes ${Math.round(held.ms)} ms for want of a network`)
  if (held.text.includes('timed out') && !free.text.includes('timed out')) return say('never ended')
  if (differs === undefined) return differences.length === 0 ? undefined : say(differences.join('\n  '))
  return differences.length > 0 ? undefined : say(`is the same, and its row says that it differs for ${differs}`)
}
