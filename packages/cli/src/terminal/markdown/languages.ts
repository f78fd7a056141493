import type { HighlightResult, HLJSApi, LanguageFn } from 'highlight.js'

export type { HighlightResult } from 'highlight.js'

/** Each grammar is a separate module, loaded when the first code in that language appears. */
const loaders = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  csharp: () => import('highlight.js/lib/languages/csharp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  dockerfile: () => import('highlight.js/lib/languages/dockerfile'),
  go: () => import('highlight.js/lib/languages/go'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  kotlin: () => import('highlight.js/lib/languages/kotlin'),
  lua: () => import('highlight.js/lib/languages/lua'),
  makefile: () => import('highlight.js/lib/languages/makefile'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  php: () => import('highlight.js/lib/languages/php'),
  python: () => import('highlight.js/lib/languages/python'),
  ruby: () => import('highlight.js/lib/languages/ruby'),
  rust: () => import('highlight.js/lib/languages/rust'),
  sql: () => import('highlight.js/lib/languages/sql'),
  swift: () => import('highlight.js/lib/languages/swift'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
} satisfies Record<string, () => Promise<{ readonly default: LanguageFn }>>

type Language = keyof typeof loaders

/** Alternative names. */
const aliases: Readonly<Record<string, Language>> = {
  'c++': 'cpp',
  cc: 'cpp',
  cjs: 'javascript',
  console: 'bash',
  cs: 'csharp',
  docker: 'dockerfile',
  golang: 'go',
  h: 'c',
  hpp: 'cpp',
  html: 'xml',
  js: 'javascript',
  jsonc: 'json',
  jsx: 'javascript',
  kt: 'kotlin',
  make: 'makefile',
  md: 'markdown',
  mjs: 'javascript',
  mts: 'typescript',
  patch: 'diff',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  svg: 'xml',
  toml: 'ini',
  ts: 'typescript',
  tsx: 'typescript',
  vue: 'xml',
  yml: 'yaml',
  zsh: 'bash',
}

/** Languages embedded in another one. */
const embeddedLanguages: Readonly<Partial<Record<Language, readonly Language[]>>> = {
  xml: ['javascript', 'css'],
  php: ['xml'],
  markdown: ['xml'],
}

let highlighter: HLJSApi | undefined
const loaded = new Map<Language, Promise<boolean>>()

/** The known name of a language; undefined if it is not highlighted. */
export function languageOf(name: string): string | undefined {
  const known = name.toLowerCase()
  const language = aliases[known] ?? known
  return isLanguage(language) ? language : undefined
}

export function isLoaded(language: string): boolean {
  return highlighter?.getLanguage(language) !== undefined
}

/** False if the grammar cannot be loaded. */
export function loadLanguage(language: string): Promise<boolean> {
  if (!isLanguage(language)) return Promise.resolve(false)
  const known = loaded.get(language)
  if (known !== undefined) return known
  const loading = load(language).catch(() => false)
  loaded.set(language, loading)
  return loading
}

async function load(language: Language): Promise<boolean> {
  const [{ default: core }, { default: grammar }] = await Promise.all([
    import('highlight.js/lib/core'),
    loaders[language](),
  ])
  highlighter = core
  await Promise.all((embeddedLanguages[language] ?? []).map(loadLanguage))
  core.registerLanguage(language, grammar)
  return true
}

/** Undefined if the language is not loaded. */
export function highlight(language: string, code: string): HighlightResult | undefined {
  if (highlighter?.getLanguage(language) === undefined) return undefined
  return highlighter.highlight(code, { language, ignoreIllegals: true })
}

function isLanguage(name: string): name is Language {
  return Object.hasOwn(loaders, name)
}
