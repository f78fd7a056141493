import { literalWord } from '../shell/read-grammar.ts'
import { argumentFirst, firstOperands, usualForm } from '../shell/subcommands/equivalent-commands.ts'
import { familyOf, programName } from '../shell/subcommands/program-names.ts'
import { phrasingsOf } from '../shell/subcommands/synonyms.ts'
import type { ShellWord } from '../shell/words.ts'
import { formsOf, runsItsArguments } from '../shell/wrappers.ts'

/** How a program runs any other program. */
interface FreeRun {
  readonly how: string
  /** By subcommand, with the words that a rule may name after it. */
  readonly subcommands?: Readonly<Record<string, string>>
  /** Whether this also applies after operands that a rule names: `find . *`. */
  readonly anywhere?: true
}

const runsCode = (how: string): FreeRun => ({ how })
const runsAnywhere = (how: string): FreeRun => ({ how, anywhere: true })
const runsGivenCommand = runsCode('the command that it is given')

const containers: FreeRun = {
  how: 'run, exec, build',
  subcommands: {
    run: 'in a container that may have all files of this machine',
    create: 'in a container that may have all files of this machine',
    exec: 'in a container',
    build: 'what the Dockerfile says',
    compose: 'run, exec',
    'compose run': 'in a container',
    'compose exec': 'in a container',
  },
  anywhere: true,
}

const freeRuns: Readonly<Record<string, FreeRun>> = {
  git: {
    how: 'aliases, hooks, -c',
    subcommands: {
      archive: '--remote, --exec',
      bisect: 'run',
      'bisect run': 'the command that it is given',
      clone: '--upload-pack, hooks, -c',
      config: 'aliases, hooks, editors',
      difftool: '--extcmd',
      fetch: '--upload-pack',
      'filter-branch': 'filters',
      'for-each-repo': 'any command of git',
      grep: '--open-files-in-pager',
      'ls-remote': '--upload-pack',
      mergetool: 'tools of the settings',
      pull: '--upload-pack',
      push: '--receive-pack',
      rebase: '--exec',
      submodule: 'foreach',
      'submodule foreach': 'the command that it is given',
    },
  },
  npm: {
    how: 'scripts, exec, install',
    subcommands: {
      exec: 'any package',
      explore: 'the command that it is given',
      init: 'any package that creates projects',
      install: 'scripts of any package',
      run: 'scripts of package.json',
      update: 'scripts of packages',
    },
  },
  yarn: {
    how: 'scripts, exec, dlx',
    subcommands: {
      add: 'scripts of any package',
      create: 'any package that creates projects',
      dlx: 'any package',
      exec: 'the command that it is given',
      run: 'scripts of package.json',
    },
  },
  pnpm: {
    how: 'scripts, exec, dlx',
    subcommands: {
      add: 'scripts of any package',
      create: 'any package that creates projects',
      dlx: 'any package',
      exec: 'the command that it is given',
      run: 'scripts of package.json',
    },
  },
  bun: {
    how: 'run, x, any script',
    subcommands: { add: 'scripts of any package', run: 'any script', x: 'any package' },
  },
  deno: {
    how: 'run, eval, task',
    subcommands: { eval: 'code as an argument', run: 'any script', task: 'tasks of deno.json' },
  },
  go: {
    how: 'run, generate, -exec, -toolexec',
    subcommands: {
      build: '-toolexec',
      generate: 'commands in the sources',
      install: '-toolexec, any module',
      run: 'any module, -exec',
      test: '-exec, -toolexec',
      vet: '-vettool',
    },
    anywhere: true,
  },
  cargo: {
    how: 'run, install, --config',
    subcommands: { install: 'build scripts of any crate', run: 'the program of any manifest' },
  },
  pip: {
    how: 'install runs code of any package',
    subcommands: { download: 'code of any package', install: 'code of any package', wheel: 'code of any package' },
  },
  uv: {
    how: 'run, tool run, pip install',
    subcommands: {
      add: 'code of any package',
      'pip install': 'code of any package',
      run: 'the command that it is given',
      'tool install': 'code of any package',
      'tool run': 'any package',
    },
  },
  pipx: { how: 'run, install', subcommands: { install: 'code of any package', run: 'any package' } },
  poetry: { how: 'run, add', subcommands: { add: 'code of any package', run: 'the command that it is given' } },
  conda: { how: 'run, install', subcommands: { install: 'any package', run: 'the command that it is given' } },
  bundle: { how: 'exec, install', subcommands: { exec: 'the command that it is given', install: 'code of any gem' } },
  gem: { how: 'install, exec', subcommands: { exec: 'any gem', install: 'code of any gem' } },
  composer: { how: 'scripts, exec', subcommands: { exec: 'the command that it is given', require: 'plugins of any package' } },
  apt: { how: 'install, -o', subcommands: { install: 'scripts of any package, -o' } },
  dnf: { how: 'install', subcommands: { install: 'scripts of any package' } },
  brew: { how: 'install', subcommands: { install: 'code of any formula' } },
  docker: containers,
  podman: containers,
  'docker-compose': { how: 'run, exec', anywhere: true },
  kubectl: {
    how: 'exec, run, debug, plugins',
    subcommands: { debug: 'in the cluster', exec: 'in the cluster', run: 'in the cluster' },
    anywhere: true,
  },
  helm: { how: 'plugins, --post-renderer', subcommands: { install: '--post-renderer', template: '--post-renderer', upgrade: '--post-renderer' } },
  terraform: { how: 'apply: provisioners', subcommands: { apply: 'provisioners', init: 'any provider', plan: 'external data' } },
  tofu: { how: 'apply: provisioners', subcommands: { apply: 'provisioners', init: 'any provider', plan: 'external data' } },
  gh: { how: 'extensions, aliases', subcommands: { alias: 'aliases', extension: 'any extension', 'extension exec': 'any extension' } },
  ansible: runsAnywhere('modules such as shell'),
  'ansible-playbook': runsCode('any playbook'),
  make: runsAnywhere('--eval, SHELL=, any makefile'),
  just: runsCode('--command, any justfile'),
  rake: runsAnywhere('-e, any Rakefile'),
  gradle: runsAnywhere('--init-script, any build'),
  mvn: runsAnywhere('plugins, any pom.xml'),
  cmake: runsCode('-P, -E'),
  ninja: runsAnywhere('any build file'),
  find: runsAnywhere('-exec'),
  fd: runsAnywhere('-x'),
  rg: runsAnywhere('--pre'),
  sed: runsAnywhere('the commands e and w'),
  awk: runsCode('system()'),
  sort: runsAnywhere('--compress-program'),
  split: runsAnywhere('--filter'),
  tar: runsAnywhere('--checkpoint-action, --to-command'),
  zip: runsAnywhere('-TT'),
  rsync: runsAnywhere('-e'),
  ssh: runsAnywhere('commands on other machines, ProxyCommand'),
  scp: runsAnywhere('-S, ProxyCommand'),
  sftp: runsAnywhere('-S, ProxyCommand'),
  wget: runsAnywhere('--use-askpass'),
  man: runsAnywhere('--pager'),
  less: runsAnywhere('! and LESSOPEN'),
  more: runsAnywhere('!'),
  fzf: runsAnywhere('--preview'),
  psql: runsAnywhere('\\!'),
  mysql: runsAnywhere('\\!'),
  sqlite3: runsAnywhere('.shell'),
  gdb: runsAnywhere('--eval-command'),
  lldb: runsAnywhere('--one-line'),
  screen: runsAnywhere('the command that it is given'),
  tmux: runsAnywhere('the command that it is given'),
  script: runsAnywhere('the command that it is given'),
  direnv: { how: 'exec', subcommands: { exec: 'the command that it is given' } },
  mise: { how: 'exec, run', subcommands: { exec: 'the command that it is given', run: 'tasks' } },
  asdf: { how: 'exec', subcommands: { exec: 'the command that it is given' } },
  ...parseRows('bash sh zsh dash ksh mksh ash fish csh tcsh pwsh powershell', runsCode('-c, any script')),
  ...parseRows('python pypy perl ruby node php lua rscript julia osascript tclsh groovy scala elixir ghci', runsCode('code as an argument, any script')),
  ...parseRows('java dotnet', runsCode('any program')),
  ...parseRows('gawk mawk nawk', runsCode('system()')),
  ...parseRows('vim vi nvim view ex ed emacs', runsAnywhere('commands of the editor')),
  ...parseRows('npx bunx pnpx uvx', runsCode('any package')),
  ...parseRows(
    'xargs parallel env sudo doas su runuser exec command builtin time timeout nohup nice ionice chrt taskset setsid stdbuf flock watch strace ' +
      'ltrace entr chroot unshare nsenter busybox toybox eval source . corepack systemd-run hyperfine unbuffer expect at batch',
    runsGivenCommand,
  ),
} // prettier-ignore

function parseRows(names: string, freedom: FreeRun): Readonly<Record<string, FreeRun>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, freedom]))
}

// Spec R-RULE-9c.
/**
 * How an allow rule lets any program run, in a sentence; undefined for a rule that does not, such as one without a wildcard. For people who read or
 * choose a rule.
 */
export function runsAnything(rule: string): string | undefined {
  const [, tool, spec] = /^([A-Za-z][\w.-]*)(?:\((.*)\))?$/s.exec(rule.trim()) ?? []
  if (tool !== 'Bash') return undefined
  if (spec === undefined || /^\s*(?::?\*)?\s*$/.test(spec)) return 'This rule lets every command run.'
  const pattern = spec.trim().replace(/:\*$/, ' *')
  const fixed = pattern.slice(0, Math.max(0, pattern.indexOf('*')))
  if (!pattern.includes('*')) return undefined
  if (fixed.trim() === '') return 'This rule lets every command run.'
  // `./scripts/*` also matches any file that is created in the folder later.
  if (!/\s/.test(fixed) && fixed.endsWith('/')) return `This rule lets every program in ${fixed} run.`
  const found = freeRunOf(wordsOf(fixed))
  return found === undefined ? undefined : `This rule lets ${found.program} run any program (${found.how}).`
}

/** The words before the wildcard; `git*` and `git *` name git, `npm run te*` names only some scripts. */
function wordsOf(fixed: string): readonly ShellWord[] {
  const words = fixed.split(/\s+/).filter(Boolean)
  return words.map((word) => literalWord(word.replace(/^(["'])(.*)\1$/s, '$2')))
}

interface FoundFreeRun {
  readonly program: string
  readonly how: string
}

function freeRunOf(given: readonly ShellWord[]): FoundFreeRun | undefined {
  const inner = formsOf(given).at(-1) ?? given
  const words = usualForm(inner) ?? inner
  const [name] = words
  if (name === undefined) return undefined
  const plain = programName(name.value)
  const family = familyOf(plain)
  const freedom = Object.hasOwn(freeRuns, family) ? freeRuns[family] : undefined
  if (freedom === undefined) return undefined
  const [operand] = firstOperands(words)
  const free = { program: plain, how: freedom.how }
  if (operand === undefined) return free
  const behind = words.slice(words.indexOf(operand))
  if (runsItsArguments(words) && freedom === runsGivenCommand) {
    // The program that a runner runs is fixed; that program may be able to run anything.
    const command = argumentFirst.has(plain) ? behind.slice(1) : behind
    return command.length === 0 ? free : freeRunOf(command)
  }
  const operands = behind.flatMap(({ value }) => (value.startsWith('-') ? [] : [value]))
  const how = freeSubcommand(family, operands, freedom)
  if (how !== undefined) return { program: plain, how: `${operands[0] ?? ''}: ${how}` }
  return freedom.anywhere === true && freedom.subcommands === undefined ? free : undefined
}

function freeSubcommand(
  family: string,
  operands: readonly string[],
  { subcommands = {}, anywhere: isOpen }: FreeRun,
): string | undefined {
  for (const [, ...phrase] of phrasingsOf([family, ...operands])) {
    for (let length = phrase.length; length > 0; length -= 1) {
      const how = Object.hasOwn(subcommands, phrase.slice(0, length).join(' '))
        ? subcommands[phrase.slice(0, length).join(' ')]
        : undefined
      // With further words, only runners that run a program whatever these words are.
      if (how !== undefined && (length === phrase.length || isOpen === true)) return how
    }
  }
  return undefined
}
