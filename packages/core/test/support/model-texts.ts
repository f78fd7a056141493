// Texts that models read are in files named `*-texts.ts`, each next to the code that uses it. This module checks that, and renders them.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

/** The exports of a texts file. */
type Text = string | Readonly<Record<string, string>> | ((...values: never[]) => string)

/**
 * Values for each function of a texts file: at least one call for each branch with a different text. A function without
 * values does not compile. Constants are rendered as they are.
 */
export type SamplesOf<Module> = {
  readonly [
    Name in keyof Module as Module[Name] extends (...values: never[]) => string ? Name : never
  ]: Module[Name] extends (...values: infer Values) => string ? readonly [Values, ...Values[]] : never
}

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const packages = ['core', 'models', 'policy', 'agent'] as const

/** All texts files, with their exports and the first lines of their comments. */
export async function textsFiles(): Promise<readonly TextsFile[]> {
  const files = packages.flatMap((name) =>
    sourcesBelow(join(root, 'packages', name, 'src'))
      .filter((path) => path.endsWith('-texts.ts'))
      .map((path) => ({ name, path })),
  )
  return Promise.all(
    files.map(async ({ name, path }) => ({
      path: relative(root, path),
      about: /^(?:\/\/ .*\n)+/
        .exec(readFileSync(path, 'utf8'))?.[0]
        .replaceAll(/^\/\/ /gm, '')
        .trim(),
      texts: (await import(path)) as Readonly<Record<string, Text>>,
      samples: await samplesAt(join(root, 'packages', name, 'test/model-texts', path.slice(path.lastIndexOf('/') + 1))),
    })),
  )
}

export interface TextsFile {
  readonly path: string
  /** The kind of these texts, as the file states it. */
  readonly about: string | undefined
  readonly texts: Readonly<Record<string, Text>>
  readonly samples: Readonly<Record<string, readonly (readonly unknown[])[]>>
}

async function samplesAt(path: string): Promise<TextsFile['samples']> {
  const module = (await import(path)) as { readonly samples?: TextsFile['samples'] }
  if (module.samples === undefined) throw new Error(`${path} exports no samples`)
  return module.samples
}

/** One section of the page: each text with the name of its constant or function. */
export function renderTexts({ path, about, texts, samples }: TextsFile): string {
  const parts = Object.entries(texts).map(([name, text]) => {
    const rendered = renderedText(name, text, samples)
    return `**${name}**\n\n${rendered.map((each) => `\`\`\`text\n${each}\n\`\`\``).join('\n\n')}`
  })
  return [`### ${path}`, ...(about === undefined ? [] : [about]), ...parts].join('\n\n')
}

/** Each text of a file with its name. Samples that ask for the available tools get this answer. */
export function* textsOfFile({ texts, samples }: TextsFile, has: () => boolean): Iterable<readonly [string, string]> {
  for (const [name, text] of Object.entries(texts)) {
    const calls = (samples[name] ?? []).map((values) =>
      values.map((value) => (typeof value === 'function' ? has : value)),
    )
    for (const rendered of renderedText(name, text, { ...samples, [name]: calls })) yield [name, rendered]
  }
}

function renderedText(name: string, text: Text, samples: TextsFile['samples']): readonly string[] {
  if (typeof text === 'string') return [text]
  if (typeof text !== 'function') return Object.entries(text).map(([key, each]) => `${key}: ${each}`)
  const calls = samples[name]
  if (calls === undefined) throw new Error(`no sample calls ${name}`)
  return calls.map((values) => text(...(values as never[])))
}

/** Functions that describe a field of a tool's input: their argument is the description, which is rendered with the tool. */
const fieldMakers = new Set([
  // An error for developers.
  'throwInvalidOption',
  'text',
  'filledText',
  'wholeNumber',
  'flag',
  'oneOf',
  'inputList',
  'enumOf',
  'listOf',
  'domains',
])

/**
 * Prose in the sources below a folder (or in one file) that is neither a description of a tool or a field, nor an error
 * for developers, nor in a texts file.
 * @param path from the root of the project
 */
export function proseOutsideTexts(path: string): readonly string[] {
  const full = join(root, path)
  const files = path.endsWith('.ts') ? [full] : sourcesBelow(full)
  return files
    .filter((file) => !file.endsWith('-texts.ts'))
    .flatMap((file) => proseIn(readFileSync(file, 'utf8'), file).map((text) => `${relative(root, file)}: ${text}`))
}

/** Three words in a row are prose; names, paths and flags are not. */
const prose = /[a-z]{2,}[,:.']? [a-z]{2,}[,:.']? [a-z]{2,}/i

export function proseIn(source: string, file: string): readonly string[] {
  const found: string[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    const node = value as Node
    if (isExempt(node)) return
    const text = textIn(node)
    if (text !== undefined && prose.test(text)) found.push(text)
    for (const each of Object.values(node)) visit(each)
  }
  visit(parseSync(file, source).program)
  return found
}

interface Node {
  readonly type?: string
  readonly value?: unknown
  readonly quasis?: readonly { readonly value: { readonly cooked: string } }[]
  readonly callee?: { readonly name?: string }
  readonly key?: { readonly name?: string; readonly value?: unknown }
}

function isExempt({ type, callee, key }: Node): boolean {
  if (type === 'ImportDeclaration' || type === 'TSLiteralType' || type === 'ThrowStatement') return true
  if (type === 'NewExpression') return callee?.name?.endsWith('Error') === true
  if (type === 'CallExpression') return fieldMakers.has(callee?.name ?? '')
  return type === 'Property' && (key?.name ?? key?.value) === 'description'
}

function textIn({ type, value, quasis }: Node): string | undefined {
  if (type === 'Literal' && typeof value === 'string') return value
  if (type === 'TemplateLiteral') return quasis?.map((each) => each.value.cooked).join('…')
  return undefined
}

function sourcesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return sourcesBelow(path)
      return path.endsWith('.ts') ? [path] : []
    })
}
