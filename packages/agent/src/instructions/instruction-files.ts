import { headOf } from '@halting/core/adapters'
import { lstatSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { bothEnds, isInside, boundedText } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import type { SettingSource } from '@halting/policy/settings'
import { importsIn, spellingsOf } from './imports.ts'
import { briefingOffer, type BriefingTrust } from './offers.ts'
import { type BriefingPlaces, type InstructionPlace, instructionPlaces } from './places.ts'

/** A file of instructions as the model is shown it. */
export interface InstructionFile {
  /** Whose file it is. */
  readonly level: SettingSource
  /** Path of the file. */
  readonly path: string
  /** Path once links are followed. */
  readonly realPath: string
  /** The text; files that it imports are entries of their own. */
  readonly text: string
  /** The file that imports it. */
  readonly importedBy?: string
  /** Only the beginning is shown. */
  readonly isCut: boolean
}

/** Instruction files as they were read, with warnings. */
export interface Instructions {
  /** What comes later counts more. */
  readonly files: readonly InstructionFile[]
  /** What a person should know: what is not shown, or not whole, and why. */
  readonly notes: readonly string[]
  /** Imports that count where the folder is trusted. */
  readonly waiting: readonly {
    /** Path of the imported file. */
    readonly path: string
    /** The file that imports it. */
    readonly by: string
  }[]
}

/** Which files may be read while instructions are put together. */
export interface ReadingRules {
  /** The person's own folder, for `~/`. */
  readonly home: string
  /** Whether deny rules leave a path open. */
  readonly mayRead: (path: string) => boolean
  /** What of the folder counts. */
  readonly trust: BriefingTrust
}

/** Characters of one file, and of all of them. */
const fileCharacters = 40_000
const allCharacters = 100_000
const importDepth = 5
const mostFiles = 50
/** So many imports are looked for, whether they are there or not. */
const mostImports = 200

// Spec R-INSTR-1.
/** Reads the instructions for a folder: nothing that deny rules name, and in bounds. */
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

/** Reads those of some folders alone, such as the ones below the working directory that lead to a file. */
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

  /** False where there is nothing to take. */
  async #take(place: InstructionPlace, path: string, importedBy: string | undefined, depth: number): Promise<boolean> {
    const real = realPath(path)
    if (this.#seen.has(real)) return true
    if (this.#files.length >= mostFiles) {
      this.note(`${path} was skipped: there are more than ${mostFiles} instruction files.`)
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
    // Two names for the same: a copy says nothing new.
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
      if (++this.#imports > mostImports) break
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
    // A name that somebody is called by is no path.
    if (/[/.]/.test(named)) this.note(`${by} imports ${named}, which does not exist.`)
  }

  #lets(real: string, by: string): Promise<boolean> {
    return this.#rules.trust.lets(importOffer(real, by))
  }

  /** In the bounds: what counts most has room first. */
  end(characters: number): Instructions {
    if (this.#imports > mostImports) this.note(`More than ${mostImports} files are imported. The rest is skipped.`)
    let left = characters
    const kept: InstructionFile[] = []
    for (const file of this.#files.toReversed()) {
      const text = headOf(file.text, left)
      const isCut = file.isCut || text.length < file.text.length
      left -= text.length
      if (isCut)
        this.note(
          `${file.path} is too long: ${text === '' ? 'it is skipped' : `only the first ${text.length} characters are used`}.`,
        )
      kept.push({ ...file, text, isCut })
    }
    return { files: kept.toReversed(), notes: this.#notes, waiting: this.#waiting }
  }
}

/** What is asked for trust where instructions lead out of their folder. */
function importOffer(real: string, by: string): ReturnType<typeof briefingOffer> {
  return briefingOffer('imports', `${real} (by ${by})`)
}

function importPath(path: string, from: string, home: string): string | undefined {
  if (path === '' || path.includes('\0')) return undefined
  if (path.startsWith('~/')) return join(home, path.slice(2))
  return isAbsolute(path) ? path : resolve(from, path)
}

/** Above the working directory anybody may have put a file, as in a folder for temporary files: another user's is not obeyed. */
function isOfAnotherUser(path: string): boolean {
  const own = process.getuid?.()
  if (own === undefined) return false
  try {
    return [lstatSync(path), statSync(path)].some(({ uid }) => uid !== own && uid !== 0)
  } catch {
    return false
  }
}
