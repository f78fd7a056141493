/** Reads the text of an included file; undefined if it does not exist. */
type ReadIncluded = (name: string) => string | undefined

interface Recipe {
  readonly targets: readonly string[]
  readonly needs: readonly string[]
  readonly lines: string[]
}

interface ReadMakefile {
  readonly recipes: readonly Recipe[]
  /** Lines that apply to every target. */
  readonly common: readonly string[]
  /** Lines of each variable. */
  readonly variables: ReadonlyMap<string, readonly string[]>
  readonly phony: ReadonlySet<string>
  readonly included: readonly string[]
}

/** Variables that change how every recipe runs. */
const always: readonly string[] = [
  'SHELL',
  '.SHELLFLAGS',
  'MAKEFLAGS',
  'PATH',
  'BASH_ENV',
  'ENV',
  'MAKE',
  'NODE_OPTIONS',
]

/**
 * Returns what `make TARGET` runs, as text: the recipes of the target and its prerequisites, the variables that they
 * use, and what applies to all targets, such as pattern rules. Omits other recipes and variables. Returns the whole
 * file if the parts cannot be determined.
 */
export function makeDefinition(text: string, target: string | undefined, include: ReadIncluded): string {
  const whole = (): string => `whole\n${text}`
  // Content that make generates while it reads the file cannot be determined here.
  if (/\$[({](?:eval|file)\b|\$[({]\$|\.EXTRA_PREREQS|\.DEFAULT_GOAL/.test(text)) return whole()
  const read = readMakefile(text)
  const first = read.recipes
    .flatMap(({ targets }) => targets)
    .find((name) => !name.startsWith('.') && !name.includes('%'))
  const targetName = target ?? first
  if (targetName === undefined || !read.recipes.some(({ targets }) => targets.includes(targetName))) return whole()
  const reached = closure([targetName], (name) =>
    read.recipes.filter(({ targets }) => targets.includes(name)).flatMap(({ needs }) => needs),
  )
  const recipes = read.recipes.filter(({ targets }) => targets.some((name) => reached.has(name)))
  const lines = [...read.common, ...recipes.flatMap((recipe) => recipe.lines)]
  const names = closure([...always, ...namesIn(lines)], (name) => namesIn(read.variables.get(name) ?? []))
  const set = [...names].toSorted().flatMap((name) => read.variables.get(name) ?? [])
  const phony = [...reached].filter((name) => read.phony.has(name)).toSorted()
  const included = read.included.map((name) => `${name}\n${include(name) ?? ''}`)
  return [...lines, ...set, `phony ${phony.join(' ')}`, ...included].join('\n')
}

/** Whether make runs a target even if a file has its name. */
export function isPhony(text: string, target: string): boolean {
  return readMakefile(text).phony.has(target)
}

function closure(start: readonly string[], next: (name: string) => readonly string[]): ReadonlySet<string> {
  const reached = new Set(start)
  // Iterating over a set includes elements that are added meanwhile.
  for (const name of reached) for (const one of next(name)) reached.add(one)
  return reached
}

function namesIn(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) =>
    [...line.matchAll(/\$[({]([\w.-]+)|\$(\w)/g)].map(([, long, short]) => long ?? short ?? ''),
  )
}

/** Placeholder for a line continuation. */
const joined = '\uE000'

const assignment = /^(?:export\s+|override\s+|unexport\s+|private\s+)*([\w.-]+)\s*(?:::?:?|\?|\+|!)?=/
const header = /^([^\s#:=][^#:=]*?)\s*(?:&?::?)(?!=)\s*(.*)$/

function readMakefile(text: string): ReadMakefile {
  const common: string[] = []
  const recipes: Recipe[] = []
  const variables = new Map<string, string[]>()
  const phony = new Set<string>()
  const included: string[] = []
  let recipe: Recipe | undefined
  let isInDefine = false
  for (const line of text.replaceAll('\r\n', '\n').replaceAll(/\\\n/g, `\\${joined}`).split('\n')) {
    if (isInDefine || /^\s*define\b/.test(line)) {
      isInDefine = !/^\s*endef\b/.test(line)
      common.push(line)
    } else if (line.startsWith('\t') && recipe !== undefined) recipe.lines.push(line)
    else if (/^\s*(?:#|$)/.test(line)) continue
    else {
      recipe = undefined
      const [, variable] = assignment.exec(line) ?? []
      const [, targets = '', rest = ''] = header.exec(line) ?? []
      const include = /^\s*[-s]?include\s+(.*)$/.exec(line)
      if (variable !== undefined) variables.set(variable, [...(variables.get(variable) ?? []), line])
      else if (include !== null) {
        common.push(line)
        included.push(...wordsOf(include[1] ?? ''))
      } else if (targets === '.PHONY') for (const name of wordsOf(rest)) phony.add(name)
      else if (targets === '' || /[%$]/.test(targets) || targets.startsWith('.')) {
        common.push(line)
        // The recipe of a pattern rule applies to all targets.
        if (targets !== '') recipe = { targets: [], needs: [], lines: common }
      } else {
        const [needs = ''] = rest.split(';')
        recipe = { targets: wordsOf(targets), needs: wordsOf(needs.replace('|', ' ')), lines: [line] }
        recipes.push(recipe)
      }
    }
  }
  return { recipes, common, variables, phony, included }
}

function wordsOf(text: string): readonly string[] {
  return text.split(/[\s\uE000\\]+/).filter(Boolean)
}

/**
 * Returns what `just RECIPE` runs, as text: the recipe and its dependencies, and everything that is not a recipe.
 * Returns the whole file if the parts cannot be determined.
 */
export function justDefinition(text: string, recipe: string | undefined, include: ReadIncluded): string {
  const common: string[] = []
  const recipes: Recipe[] = []
  let current: Recipe | undefined
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    if (/^\s*(?:#|$)/.test(line) && !line.startsWith('#!')) continue
    if (/^\s/.test(line) && current !== undefined) {
      current.lines.push(line)
      continue
    }
    const [, name, rest = ''] = /^@?([A-Za-z_][\w-]*)\b[^:]*:(?!=)(.*)$/.exec(line) ?? []
    current =
      name === undefined ? undefined : { targets: [name], needs: rest.match(/[A-Za-z_][\w-]*/g) ?? [], lines: [line] }
    if (current === undefined) common.push(line)
    else recipes.push(current)
  }
  const aliases = new Map(
    common.flatMap((line) =>
      [...line.matchAll(/^alias\s+([\w-]+)\s*:=\s*([\w-]+)/g)].map(([, from = '', to = '']) => [from, to] as const),
    ),
  )
  const targetName = recipe === undefined ? recipes[0]?.targets[0] : (aliases.get(recipe) ?? recipe)
  if (targetName === undefined || !recipes.some(({ targets }) => targets.includes(targetName))) return `whole\n${text}`
  const reached = closure([targetName], (name) =>
    recipes.filter(({ targets }) => targets.includes(name)).flatMap(({ needs }) => needs),
  )
  const included = common.flatMap((line) =>
    [...line.matchAll(/^(?:import|mod)\??\s+['"]([^'"]+)['"]/g)].map(([, name = '']) => name),
  )
  return [
    ...common,
    ...recipes.filter(({ targets }) => targets.some((name) => reached.has(name))).flatMap(({ lines }) => lines),
    ...included.map((name) => `${name}\n${include(name) ?? ''}`),
  ].join('\n')
}
