import { headOf } from '@halting/core/adapters'
import { lstatSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { bothEnds, isInside, boundedText } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import type { SettingSource } from '@halting/policy/settings'
import { importsIn, spellingsOf } from './imports.ts'
import { briefingOffer, type BriefingTrust } from './briefing-trust.ts'
import { type BriefingPlaces, type InstructionPlace, instructionPlaces } from './places.ts'

/** An instruction file as shown to the model. */
export interface InstructionFile {
  /** Source of the file. */
  readonly level: SettingSource
  /** Path of the file. */
  readonly path: string
  /** Path with links resolved. */
  readonly realPath: string
  /** The text. Imported files are separate entries. */
  readonly text: string
  /** The file that imports it. */
  readonly importedBy?: string
  /** Whether only its beginning is shown. */
  readonly isCut: boolean
}

/** Instruction files, with notes about problems. */
export interface Instructions {
  /** Later files take precedence. */
  readonly files: readonly InstructionFile[]
  /** Notes for the user: what is not shown, or not in full, and why. */
  readonly notes: readonly string[]
  /** Imports that need trust in the folder. */
  readonly waiting: readonly {
    /** Path of the imported file. */
    readonly path: string
    /** The file that imports it. */
    readonly by: string
  }[]
}

/** Which files may be read as instructions. */
export interface ReadingRules {
  /** The user's home folder, for `~/`. */
  readonly home: string
  /** Whether deny rules leave a path readable. */
  readonly mayRead: (path: string) => boolean
  /** Which content of the folder is trusted. */
  readonly trust: BriefingTrust
}

/** Maximum characters of one file, and of all files. */
const fileCharacters = 40_000
const allCharacters = 100_000
const importDepth = 5
const maxFiles = 50
/** Maximum number of imports that are looked up, whether they exist or not. */
const maxImports = 200

// Spec R-INSTR-1.
/** Reads the instructions for a folder: nothing that deny rules name, and within the limits. */
export async function readInstructions(options: BriefingPlaces & ReadingRules): Promise<Instructions> {
  const { cwd } = options
  const reader = new InstructionReader(options)
  for (const place of instructionPlaces(options)) {
    const isAbove = place.level !== 'user' && !isInside(place.path, cwd)
    if (isAbove && isOfAnotherUser(place.path)) reader.note(`${place.path} belongs to another user. Skipped.`)
    else await reader.read(place)
  }
  return reader.end(allCharacters)
}

/** Reads only the instructions of some folders, such as those between the working directory and a file. */
export async function readPlaces(
  places: readonly InstructionPlace[],
  rules: ReadingRules,
  known: ReadonlySet<string>,
  characters: number,
): Promise<Instructions> {
  const reader = new InstructionReader(rules, known)
  for (const place of places) await reader.read(place)
  return reader.end(characters)
}

class InstructionReader {
  readonly #rules: ReadingRules
  readonly #files: InstructionFile[] = []
  readonly #notes: string[] = []
  readonly #waiting: { readonly path: string; readonly by: string }[] = []
  readonly #seen: Set<string>
  readonly #texts = new Set<string>()
  #imports = 0

  constructor(rules: ReadingRules, known: ReadonlySet<string> = new Set()) {
    this.#rules = rules
    this.#seen = new Set(known)
  }

  note(text: string): void {
    this.#notes.push(text)
  }

  async read(place: InstructionPlace): Promise<void> {
    const real = realPath(place.path)
    if (this.#seen.has(real)) return
    const isOutside = place.root !== undefined && !isInside(real, realPath(place.root))
    if (isOutside && !(await this.#lets(real, place.path))) {
      const read = await boundedText(real, 1)
      if (read.kind !== 'absent') this.#waiting.push({ path: real, by: place.path })
      return
    }
    await this.#take(place, place.path, undefined, 0)
  }

  /** Adds a file and its imports. Returns false if the file does not exist. */
  async #take(place: InstructionPlace, path: string, importedBy: string | undefined, depth: number): Promise<boolean> {
    const real = realPath(path)
    if (this.#seen.has(real)) return true
    if (this.#files.length >= maxFiles) {
      this.note(`${path} was skipped: there are more than ${maxFiles} instruction files.`)
      return true
    }
    const isDenied = bothEnds(path).some((end) => !this.#rules.mayRead(end))
    const read = await boundedText(real, fileCharacters * 4)
    if (read.kind === 'absent') return false
    this.#seen.add(real)
    if (isDenied || read.kind === 'unfit') {
      this.note(
        isDenied
          ? `${path} was skipped: a permission rule denies it.`
          : `${path} ${read.kind === 'unfit' ? read.why : ''}.`,
      )
      return true
    }
    const text = read.text.trim()
    // Skips a second path of a text that was already added.
    if (text !== '' && !this.#texts.has(text)) {
      this.#texts.add(text)
      this.#files.push({
        level: place.level,
        path,
        realPath: real,
        text: headOf(text, fileCharacters),
        ...(importedBy !== undefined && { importedBy }),
        isCut: read.isCut || text.length > fileCharacters,
      })
    }
    for (const named of importsIn(text)) {
      if (++this.#imports > maxImports) break
      await this.#import(place, named, path, depth + 1)
    }
    return true
  }

  async #import(place: InstructionPlace, named: string, by: string, depth: number): Promise<void> {
    if (depth > importDepth)
      return this.note(`${by} imports ${named}, nested more than ${importDepth} files deep. Skipped.`)
    for (const spelling of spellingsOf(named)) {
      const path = importPath(spelling, dirname(by), this.#rules.home)
      if (path === undefined) continue
      const real = realPath(path)
      const isOutside = place.root !== undefined && !isInside(real, realPath(place.root))
      if (isOutside && !(await this.#lets(real, place.path))) {
        if ((await boundedText(real, 1)).kind !== 'text') continue
        this.#waiting.push({ path: real, by })
        return
      }
      if (await this.#take(place, path, by, depth)) return
    }
    // A mention of a person (`@name`) is not a path.
    if (/[/.]/.test(named)) this.note(`${by} imports ${named}, which does not exist.`)
  }

  #lets(real: string, by: string): Promise<boolean> {
    return this.#rules.trust.lets(importOffer(real, by))
  }

  /** Applies the limits: the most important files get room first. */
  end(characters: number): Instructions {
    if (this.#imports > maxImports) this.note(`More than ${maxImports} files are imported. The rest is skipped.`)
    let left = characters
    const included: InstructionFile[] = []
    for (const file of this.#files.toReversed()) {
      const text = headOf(file.text, left)
      const isCut = file.isCut || text.length < file.text.length
      left -= text.length
      if (isCut)
        this.note(
          `${file.path} is too long: ${text === '' ? 'it is skipped' : `only the first ${text.length} characters are used`}.`,
        )
      included.push({ ...file, text, isCut })
    }
    return { files: included.toReversed(), notes: this.#notes, waiting: this.#waiting }
  }
}

/** The trust offer for an import outside the folder. */
function importOffer(real: string, by: string): ReturnType<typeof briefingOffer> {
  return briefingOffer('imports', `${real} (by ${by})`)
}

function importPath(path: string, from: string, home: string): string | undefined {
  if (path === '' || path.includes('\0')) return undefined
  if (path.startsWith('~/')) return join(home, path.slice(2))
  return isAbsolute(path) ? path : resolve(from, path)
}

/**
 * Any user may put a file above the working directory, for example in a folder for temporary files, so files of other
 * users are ignored.
 */
function isOfAnotherUser(path: string): boolean {
  const own = process.getuid?.()
  if (own === undefined) return false
  try {
    return [lstatSync(path), statSync(path)].some(({ uid }) => uid !== own && uid !== 0)
  } catch {
    return false
  }
}
