/** The words of a command; '' for a word that only the shell knows. */
export type Words = readonly string[]

/** The name of a program without folder and Windows extension. */
export function programName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1).replace(/\.(?:exe|cmd)$/, '')
}

/** A runner: how many words to remove, and which of its options take a value. */
interface Runner {
  /** Words after the name that belong to it, such as `run` of `poetry run`. */
  readonly verbs?: readonly string[]
  /** Options with a value in the next word. */
  readonly values?: RegExp
  /** Number of operands before the command, such as the container of `docker exec`. */
  readonly operands?: number
}

const runners: { readonly [name: string]: readonly Runner[] } = {
  env: [{ values: /^-[uCS]$/ }],
  sudo: [{ values: /^-[ugCDhpRT]$/ }],
  exec: [{}],
  npx: [{ values: /^(?:-p|--package|-w|--workspace|--prefix)$/ }],
  bunx: [{}],
  uvx: [{ values: /^(?:--from|--with|-p|--python)$/ }],
  pipx: [{ verbs: ['run'] }],
  npm: [{ verbs: ['exec'], values: /^(?:-p|--package|-w|--workspace|--prefix)$/ }, { verbs: ['x'] }],
  pnpm: [{ verbs: ['exec'] }, { verbs: ['dlx'] }],
  yarn: [{ verbs: ['exec'] }, { verbs: ['dlx'] }],
  bun: [{ verbs: ['x'] }],
  poetry: [{ verbs: ['run'] }],
  uv: [
    { verbs: ['run'], values: /^(?:--with|--extra|--group|--python|-p|--project|--directory|--env-file|--package)$/ },
  ],
  pipenv: [{ verbs: ['run'] }],
  pdm: [{ verbs: ['run'] }],
  rye: [{ verbs: ['run'] }],
  hatch: [{ verbs: ['run'] }],
  conda: [{ verbs: ['run'], values: /^(?:-n|-p|--name|--prefix)$/ }],
  micromamba: [{ verbs: ['run'], values: /^(?:-n|-p|--name|--prefix)$/ }],
  bundle: [{ verbs: ['exec'] }],
  mise: [{ verbs: ['exec'] }, { verbs: ['x'] }],
  'cross-env': [{}],
  dotenv: [{ values: /^-[ef]$/ }],
  'xvfb-run': [{ values: /^-[nsfel]$/ }],
  corepack: [{}],
  nyc: [{}],
  c8: [{}],
  coverage: [{ verbs: ['run'], values: /^(?:--source|--omit|--include|--rcfile|--data-file)$/ }],
  docker: [{ verbs: ['exec'], values: /^(?:-[euw]|--env|--user|--workdir)$/, operands: 1 }],
  podman: [{ verbs: ['exec'], values: /^(?:-[euw]|--env|--user|--workdir)$/, operands: 1 }],
  'docker-compose': [
    { verbs: ['exec'], operands: 1 },
    { verbs: ['run'], operands: 1 },
  ],
  time: [{ values: /^-[fo]$/ }],
  gtimeout: [{ operands: 1, values: /^-[ks]$/ }],
  timeout: [{ operands: 1, values: /^-[ks]$/ }],
  unbuffer: [{}],
  caffeinate: [{}],
  ionice: [{ values: /^-[cn]$/ }],
  doppler: [{ verbs: ['run'] }],
  direnv: [{ verbs: ['exec'], operands: 1 }],
  'nix-shell': [],
}

const maxRunners = 6

/**
 * Returns the command inside programs that only run it, such as `npx`, `poetry run` and `env A=b`. `python -m x`
 * becomes x.
 */
export function withoutWrappers(words: Words, left: number = maxRunners): Words {
  const [first = '', ...args] = words
  const name = programName(first)
  if (left === 0) return words
  if (/^(?:python[\d.]*|pypy3?)$/.test(name)) {
    const at = args.findIndex((word) => word === '-m')
    const isModule =
      at >= 0 && args.slice(0, at).every((word) => /^-(?!c)\w|^[\w.]+=|^(?:default|ignore|error)$/.test(word))
    const module = isModule ? args.slice(at + 1) : []
    return module.length > 0 ? withoutWrappers(module, left - 1) : words
  }
  if (name === 'docker' && args[0] === 'compose') return withoutWrappers(['docker-compose', ...args.slice(1)], left - 1)
  const known = Object.hasOwn(runners, name) ? (runners[name] ?? []) : []
  for (const { verbs = [], values, operands = 0 } of known) {
    if (!verbs.every((verb, at) => args[at] === verb)) continue
    const inner = withoutOptions(args.slice(verbs.length), values).slice(operands)
    if (inner.length > 0) return withoutWrappers(inner, left - 1)
  }
  return words
}

function withoutOptions(words: Words, values: RegExp | undefined): Words {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (word === '--') return words.slice(at + 1)
    if (values?.test(word) === true) at += 1
    else if (!word.startsWith('-') && !/^[A-Za-z_]\w*=/.test(word)) return words.slice(at)
  }
  return []
}
