import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Without it nothing hostile is run: a mistake in a row would affect this machine. */
export const isBubblewrapThere =
  process.platform === 'linux' &&
  spawnSync('bwrap', ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--unshare-net', 'true']).status === 0

/** A canary, in files, names of files and variables that no command may reveal. */
export const canary = /CANARY-[A-Z]+/

/** A small machine: `project` with a repository and all kinds of links, `outside`, a `home`, and `ran`, where an unnamed program leaves a mark. */
export interface World {
  readonly root: string
  readonly project: string
  readonly home: string
}

const evil = (mark: string): string => `#!/bin/sh\n: > '${mark}/ran/mark'\necho EVIL-RAN\n`

/** The caller removes it with `removeWorld`. */
export function makeWorld(): World {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-judged-')))
  const at = (...names: string[]): string => join(root, ...names)
  for (const folder of [
    'ran',
    'outside/deep',
    'outside/tree',
    'home/.ssh',
    'home/.rustup',
    'home/.config',
    'project/src/deep',
    'project/secret',
    'project/bin',
  ])
    mkdirSync(at(folder), { recursive: true })
  for (const folder of ['project/sub', 'project/odd', 'project/kept/.git', 'project/.github/workflows', 'project/out'])
    mkdirSync(at(folder), { recursive: true })
  for (const name of ['a=', 'x:']) mkdirSync(at(`project/${name}${root}`), { recursive: true })
  const texts: Readonly<Record<string, string>> = {
    'outside/x': 'CANARY-OUTSIDE\n',
    'outside/x.json': '{"a":"CANARY-OUTSIDE"}\n',
    'outside/list': 'CANARY-OUTSIDE\0',
    'outside/deep/y': 'CANARY-OUTSIDE\n',
    'outside/tree/CANARY-NAME': 'CANARY-OUTSIDE\n',
    'home/.ssh/id': 'CANARY-HOME\n',
    'home/.bashrc': '# start\n',
    // rustup creates it on first use.
    'home/.rustup/settings.toml': 'version = "12"\n',
    'home/.netrc': 'machine x login y password CANARY-HOME\n',
    'home/.gitconfig': '[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n',
    'project/.env': 'KEY=CANARY-DENIED\n',
    'project/secret/key': 'CANARY-DENIED\n',
    'project/a.ts': 'one\ntwo\nthree\n',
    'project/b.ts': 'one\n2\nthree\n',
    'project/src/c.ts': 'const c = 1\n',
    'project/src/deep/d.ts': 'const d = 1\n',
    'project/package.json': '{"name":"x","scripts":{"test":"true"}}\n',
    'project/kept/.git/config': '[core]\n',
    'project/.github/workflows/ci.yml': 'on: push\n',
    'project/Makefile': 'all:\n\t@echo made\n',
    'project/paths': '../outside/x\n',
    'project/zero': '../outside/x\0',
    'project/odd/--files0-from=zero': '',
    'project/odd/zero': '../../outside/x\0',
    'project/odd/-la': '',
  }
  for (const [name, text] of Object.entries(texts)) writeFileSync(at(name), text)
  for (const name of ['evil', 'bin/ls', 'bin/cat', 'bin/git', 'bin/true', 'bin/sed', 'bin/id', 'script.sh']) {
    writeFileSync(at('project', name), evil(root))
    chmodSync(at('project', name), 0o755)
  }
  const links: Readonly<Record<string, string>> = {
    'project/link': at('outside/deep'),
    'project/tree-out': at('outside'),
    'project/out.txt': '../outside/x',
    'project/src/out.ts': '../../outside/x',
    'project/to-env': '.env',
    'project/to-secret': 'secret',
    'project/chain': 'chain2',
    'project/chain2': 'out.txt',
    'project/up': '..',
    'project/to-git': '.git',
    'project/dangling': '../outside/new',
    // Where `a=~/.ssh/id` and `x:~/.ssh/id` lead after the shell has inserted the home directory.
    [`project/a=${at('home')}`]: at('home'),
    [`project/x:${at('home')}`]: at('home'),
  }
  const git = (...args: string[]): void =>
    void execFileSync('git', args, {
      cwd: at('project'),
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], HOME: at('home'), GIT_CONFIG_NOSYSTEM: '1' },
    })
  git('init', '-q', '--template=')
  git('add', 'a.ts', 'src/c.ts', '.env', 'secret')
  git('commit', '-qm', 'first')
  writeFileSync(at('project/a.ts'), 'one\ntwo\nthree\nfour\n')
  git('add', 'b.ts', 'a.ts')
  git('commit', '-qm', 'second')
  for (const [name, target] of Object.entries(links)) symlinkSync(target, at(name))
  return { root, project: at('project'), home: at('home') }
}

export function removeWorld({ root }: World): void {
  rmSync(root, { recursive: true, force: true })
}

/** Paths that exist on one side only, or differ. */
function changedPaths(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path))
}

/** Variables from which programs take commands and options: commands without a rule must ignore all of them. */
const tempting = (project: string): Record<string, string> => ({
  PAGER: `${project}/evil`,
  EDITOR: `${project}/evil`,
  VISUAL: `${project}/evil`,
  LESSOPEN: `|${project}/evil %s`,
  SECRET_TOKEN: 'CANARY-ENV',
})

export function environmentIn({ project, home }: World): Record<string, string> {
  const { PATH = '/usr/bin:/bin' } = process.env
  return { PATH, HOME: home, LANG: 'C.UTF-8', USER: 'somebody', ...tempting(project) }
}

export interface Outcome {
  readonly printed: string
  /** Relative to the root of the world. */
  readonly changed: readonly string[]
}

/** The content of a world: a line for each path, with its kind, mode, time, size and target. */
const listing = `find . ! -path ./up/\\* -printf '%P\\t%y %m %T@ %s %l\\n'`

/**
 * Runs bash scripts one after another in a copy of the world, mounted in its place and restored after each script that changed it. Nothing else is
 * writable, and there is no network. Waits up to seven seconds for background output (bash does not wait for `>(…)`).
 * @param launch Arguments before `bash`, such as a program that confines it.
 */
export async function runMany(
  world: World,
  scripts: readonly string[],
  env: Readonly<Record<string, string>> = {},
  launch: readonly string[] = [],
): Promise<readonly Outcome[]> {
  const { root, project } = world
  const side = realpathSync(mkdtempSync(join(tmpdir(), 'halting-judged-run-')))
  try {
    for (const folder of ['in', 'out', 'copy']) mkdirSync(join(side, folder))
    for (const [at, script] of scripts.entries()) writeFileSync(join(side, 'in', String(at)), script)
    writeFileSync(join(side, 'launch'), launch.map((word) => `${word}\0`).join(''))
    await inBubblewrap(world, side, { script: driver(root, project, side, scripts.length), env })
    const read = (name: string): string => readFileSync(join(side, 'out', name), 'latin1')
    const before = linesOf(read('before'))
    return scripts.map((_, at) => ({
      printed: read(String(at)),
      changed: changedPaths(
        before,
        linesOf(existsSync(join(side, 'out', `${at}.after`)) ? read(`${at}.after`) : read('before')),
      ),
    }))
  } finally {
    rmSync(side, { recursive: true, force: true })
  }
}

function driver(root: string, project: string, side: string, count: number): string {
  return `
    mapfile -d '' -t launch < ${side}/launch
    fill() { cp -a ${side}/template/. ${root}; }
    look() { (cd ${root} && ${listing}) 2>/dev/null; }
    fill; look > ${side}/out/before; before=$(< ${side}/out/before)
    for ((i = 0; i < ${count}; i++)); do
      cd ${project}
      timeout -k 1 5 "\${launch[@]}" bash -c "$(< ${side}/in/$i)" 2>&1 < /dev/null | timeout -k 1 7 cat > ${side}/out/$i
      cd /
      after=$(look)
      if [[ $after != "$before" ]]; then
        printf '%s\\n' "$after" > ${side}/out/$i.after
        find ${root} -mindepth 1 -delete; fill
      fi
    done`
}

/** Variables that programs use. */
const heeded =
  '$PATH|$IFS|$HOME|$BASH_ENV|$ENV|$PS4|$LD_PRELOAD|$LD_LIBRARY_PATH|$EDITOR|$PAGER|$GIT_DIR|$GIT_CONFIG_COUNT|$GIT_PAGER|$NODE_OPTIONS|$PERL5OPT|$CDPATH|$TMPDIR|$SHELLOPTS'

/** Runs commands in one bash, each in a subshell, all in one copy of the world. The output has a line for each used variable that a command changed. */
export async function runAsOne(
  world: World,
  commands: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const side = realpathSync(mkdtempSync(join(tmpdir(), 'halting-judged-run-')))
  const { root, project } = world
  try {
    for (const folder of ['in', 'out', 'copy']) mkdirSync(join(side, folder))
    writeFileSync(join(side, 'in/all'), `${commands.join('\0')}\0`)
    const script = `
      look() { (cd ${root} && ${listing}) 2>/dev/null; }
      cp -a ${side}/template/. ${root}; look > ${side}/out/before
      mapfile -d '' -t __all < ${side}/in/all
      __now="${heeded}"
      cd ${project}
      ulimit -t 5
      for __at in "\${!__all[@]}"; do
        ( eval "\${__all[__at]}"; [[ "${heeded}" == "$__now" ]] || echo "CANARY""-VARIABLE" "\${__all[__at]}" ) < /dev/null 2>&1
      done > ${side}/out/printed
      look > ${side}/out/after`
    await inBubblewrap(world, side, { script, env })
    const read = (name: string): string => readFileSync(join(side, 'out', name), 'latin1')
    return { printed: read('printed'), changed: changedPaths(linesOf(read('before')), linesOf(read('after'))) }
  } finally {
    rmSync(side, { recursive: true, force: true })
  }
}

function linesOf(text: string): ReadonlyMap<string, string> {
  return new Map(text.split('\n').map((line) => [line.slice(0, line.indexOf('\t')), line] as const))
}

interface Confined {
  readonly script: string
  readonly env: Readonly<Record<string, string>>
  /** Further arguments of bubblewrap. */
  readonly options?: readonly string[]
  readonly maxMs?: number
}

/** Runs a script that can write only `side` and a copy of the world. */
export function inBubblewrap(
  world: World,
  side: string,
  { script, env, options = [], maxMs = 0 }: Confined,
): Promise<void> {
  const args = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp', '--tmpfs', '/dev/shm']
  args.push('--bind', side, side, '--ro-bind', world.root, `${side}/template`, '--bind', `${side}/copy`, world.root)
  args.push('--unshare-net', '--unshare-pid', '--unshare-ipc', '--die-with-parent', '--new-session')
  args.push(...options, 'bash', '-c', script)
  return new Promise((resolve) => {
    const child = execFile(
      'bwrap',
      args,
      { env: { ...environmentIn(world), ...env }, maxBuffer: 40_000_000, timeout: maxMs, killSignal: 'SIGKILL' },
      () => resolve(),
    )
    child.stdin?.end()
  })
}

/** Runs several at a time, and returns the results in the order of the list. */
export async function together<T, R>(items: readonly T[], atOnce: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  return results
}
