import { type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { bothEnds, isInside, statOf, boundedText } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import { listField, parseFrontMatter, textField } from './frontmatter.ts'
import type { ReadingRules } from './instruction-files.ts'
import { type BriefingPlaces, foldersOf, componentName, withPluginRoot, type PromptPlace } from './places.ts'

/** A prompt file that is invoked by name: a slash command or a skill. */
export interface PromptFile {
  /** Whether it is a command or a skill. */
  readonly kind: 'command' | 'skill'
  /** `fix-issue`, `git:commit`; `plugin:fix-issue`. */
  readonly name: string
  /** Where it comes from. */
  readonly level: PromptPlace['level']
  /** Path of the file. */
  readonly path: string
  /** What it is for; '' if not given. */
  readonly description: string
  /** Its arguments, such as `[path]`; '' if there are none. */
  readonly argumentHint: string
  /** Rules that allow what it needs, while it is active. */
  readonly allowedTools: readonly string[]
  /** The model of its run; '' for the model of the session. */
  readonly model: string
  /** The text before substitution. */
  readonly body: string
  /** Whether a user can invoke it by name. */
  readonly isForPerson: boolean
  /** Whether the model can invoke it. */
  readonly isForModel: boolean
  /** Path of a file of the user with the same name, which this one hides. */
  readonly inPlaceOf?: string
}

/** Prompt files, with notes about problems. */
export interface PromptFiles {
  /** The prompts. */
  readonly all: readonly PromptFile[]
  /** Notes for the user about them. */
  readonly notes: readonly string[]
}

const mostBytes = 256 * 1024
const mostEntries = 1_000
const deepest = 6

/**
 * All commands and skills, one per name. Precedence: the project, the user, our folders before those of other
 * programs, plugins last.
 */
export async function readPromptFiles(options: BriefingPlaces & Pick<ReadingRules, 'mayRead'>): Promise<PromptFiles> {
  const notes: string[] = []
  const found = new Map<string, PromptFile>()
  for (const kind of ['commands', 'skills'] as const) {
    for (const place of foldersOf(kind, options)) {
      const files = kind === 'commands' ? await commandFiles(place.path, notes) : await skillFiles(place)
      for (const file of files) {
        const prompt = await readPrompt({ kind, ...file, place }, options, notes)
        if (prompt === undefined) continue
        const known = found.get(prompt.name)
        if (known === undefined) found.set(prompt.name, prompt)
        else if (known.level === 'project' && place.level === 'user' && known.inPlaceOf === undefined)
          found.set(prompt.name, { ...known, inPlaceOf: prompt.path })
      }
    }
  }
  return { all: [...found.values()], notes }
}

interface Found {
  readonly name: string
  readonly path: string
}

/** `git/commit.md` gets the name `git:commit`. A plugin may name a single file. */
async function commandFiles(folder: string, notes: string[]): Promise<readonly Found[]> {
  if (folder.endsWith('.md') && statOf(folder)?.isFile() === true)
    return [{ name: basename(folder, '.md'), path: folder }]
  const files: Found[] = []
  let entries = 0
  const look = async (at: string, depth: number): Promise<void> => {
    for (const entry of await entriesOf(at)) {
      if (++entries > mostEntries) return
      const path = join(at, entry.name)
      if (isFolder(entry, path)) {
        if (depth < deepest) await look(path, depth + 1)
      } else if (entry.name.endsWith('.md')) {
        const name = relative(folder, path).slice(0, -'.md'.length).replaceAll(sep, ':')
        if (isName(name)) files.push({ name, path })
        else notes.push(`${path} is not a command: its name has characters that are not allowed.`)
      }
    }
  }
  await look(folder, 1)
  if (entries > mostEntries)
    notes.push(`${folder} has more than ${mostEntries} entries. Some of its commands are not loaded.`)
  return files
}

/** A plugin may name the folder of a single skill. */
async function skillFiles({ path: folder, plugin }: PromptPlace): Promise<readonly Found[]> {
  const single = { name: basename(folder), path: join(folder, 'SKILL.md') }
  if (plugin !== undefined && statOf(single.path)?.isFile() === true) return [single]
  const entries = (await entriesOf(folder)).slice(0, mostEntries)
  return entries
    .filter((entry) => isFolder(entry, join(folder, entry.name)) && isName(entry.name))
    .map(({ name }) => ({ name, path: join(folder, name, 'SKILL.md') }))
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  } catch {
    return []
  }
}

function isFolder(entry: Dirent, path: string): boolean {
  return entry.isDirectory() || (entry.isSymbolicLink() && statOf(path)?.isDirectory() === true)
}

function isName(name: string): boolean {
  return /^[\p{L}\p{N}_.:-]{1,100}$/u.test(name)
}

async function readPrompt(
  { kind, name, path, place }: Found & { readonly kind: 'commands' | 'skills'; readonly place: PromptPlace },
  { mayRead }: Pick<ReadingRules, 'mayRead'>,
  notes: string[],
): Promise<PromptFile | undefined> {
  const read = await boundedText(path, mostBytes)
  if (read.kind === 'absent') return undefined
  const why = bothEnds(path).some((end) => !mayRead(end))
    ? 'was skipped: a permission rule denies it'
    : place.root !== undefined && !isInside(realPath(path), realPath(place.root))
      ? `was skipped: it is a symbolic link that leaves the ${place.level}`
      : read.kind === 'unfit'
        ? read.why
        : undefined
  if (why !== undefined || read.kind !== 'text') {
    notes.push(`${path} ${why}.`)
    return undefined
  }
  if (read.isCut) notes.push(`${path} is too long: only the first ${mostBytes} bytes are used.`)
  const { fields, body, problems } = await parseFrontMatter(withPluginRoot(read.text, place))
  if (problems[0] !== undefined) notes.push(`${path}: ${problems[0]}. What it was meant to set is ignored.`)
  const isSkill = kind === 'skills'
  const ownName = isSkill ? textField(fields, 'name') : ''
  return {
    kind: isSkill ? 'skill' : 'command',
    name: componentName(place, isName(ownName) ? ownName : name),
    level: place.level,
    path,
    description: textField(fields, 'description') || firstLine(body),
    argumentHint: textField(fields, 'argument-hint'),
    allowedTools: listField(fields, 'allowed-tools'),
    model: textField(fields, 'model'),
    body,
    isForPerson: textField(fields, 'user-invocable') !== 'false',
    // Commands are for users; the model is offered skills.
    isForModel: isSkill && textField(fields, 'disable-model-invocation') !== 'true',
  }
}

function firstLine(body: string): string {
  return (
    body
      .split('\n')[0]
      ?.replace(/^#+\s*/, '')
      .trim() ?? ''
  )
}
