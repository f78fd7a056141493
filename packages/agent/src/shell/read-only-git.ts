type Check = (args: readonly string[]) => boolean

/** True for a git command line (without `git`) that changes nothing and runs nothing that its arguments name. */
export function isReadOnlyGit(args: readonly string[]): boolean {
  const command = args.findIndex((argument, index) => !argument.startsWith('-') && args[index - 1] !== '-C')
  if (command === -1) return args.length === 1 && args[0] === '--version'
  const before = args.slice(0, command).filter((argument, index, all) => argument !== '-C' && all[index - 1] !== '-C')
  if (!before.every((argument) => harmlessGlobals.has(argument))) return false
  const [name = '', ...rest] = args.slice(command)
  return Object.hasOwn(commands, name) && !rest.some(isDangerous) && commands[name]?.(rest) === true
}

const harmlessGlobals: ReadonlySet<string> = new Set(['--no-pager', '--no-optional-locks', '--literal-pathspecs'])

/** Options of commands that only read otherwise: they write a file, run a program, or read outside of the repository. */
const dangerous = [
  '--output',
  '--ext-diff',
  '--textconv',
  '--open-files-in-pager',
  '--no-index',
  '--filters',
  '--upload-pack',
  '--exec',
]

/** Git takes any unambiguous beginning of a long option for the option. */
function isDangerous(argument: string): boolean {
  const name = argument.split('=', 1)[0] ?? ''
  const isBeginning = name.length > 2 && name.startsWith('--') && dangerous.some((option) => option.startsWith(name))
  return isBeginning || argument.startsWith('-O')
}

const always: Check = () => true
const onlyOptions =
  (known: RegExp): Check =>
  (args) =>
    args.every((argument) => known.test(argument))

const commands: Readonly<Record<string, Check>> = {
  status: always,
  log: always,
  diff: always,
  show: always,
  blame: always,
  shortlog: always,
  describe: always,
  'rev-parse': always,
  'rev-list': always,
  'ls-files': always,
  'ls-tree': always,
  'cat-file': always,
  'merge-base': always,
  'name-rev': always,
  'show-ref': (args) => !args.includes('--exclude-existing'),
  'for-each-ref': always,
  grep: always,
  version: always,
  // With a name these make, move or delete something.
  branch: onlyOptions(
    /^(?:-a|-r|-v|-vv|--all|--remotes|--list|--show-current|--verbose|--no-color|--sort=.+|--format=.+)$/,
  ),
  tag: (args) =>
    args.length === 0 ||
    (/^(?:-l|--list)$/.test(args[0] ?? '') && args.slice(1).every((argument) => !argument.startsWith('-'))),
  remote: (args) => onlyOptions(/^(?:-v|--verbose)$/)(args) || args[0] === 'get-url',
  config: (args) => /^(?:--get|--get-all|--get-regexp|--list|-l|get|list)$/.test(args[0] ?? ''),
  stash: (args) => args[0] === 'list' || args[0] === 'show',
  reflog: (args) => args.length === 0 || args[0] === 'show' || (args[0]?.startsWith('-') ?? false),
  worktree: (args) => args[0] === 'list',
}
