import type { ShellWord } from './words.ts'

// The meaning of a text does not change, so results about it are cached across judgements. Nothing here accesses the disk or the environment.

type Words = readonly ShellWord[]

/** Memoizes a function of an immutable object. A result is garbage collected with its object. */
export function memoizeByObject<A extends object, R>(find: (about: A) => R): (about: A) => R {
  const known = new WeakMap<A, { readonly is: R }>()
  return (about) => {
    const before = known.get(about)
    if (before !== undefined) return before.is
    const is = find(about)
    known.set(about, { is })
    return is
  }
}

/** Like `memoizeByObject`, for two objects. */
export function memoizeByPair<A extends object, B extends object, R>(
  find: (about: A, by: B) => R,
): (about: A, by: B) => R {
  const answersOf = memoizeByObject((about: A) => memoizeByObject((by: B) => find(about, by)))
  return (about, by) => answersOf(about)(by)
}

/** Like `memoizeByObject`, for words, unless one of them is `ps`, whose meaning depends on environment variables. */
export function memoizeByWords<R>(find: (words: Words) => R): (words: Words) => R {
  const known = new WeakMap<Words, { readonly is: R }>()
  return (words) => {
    const before = known.get(words)
    if (before !== undefined) return before.is
    const is = find(words)
    if (words.every(({ value }) => value !== 'ps')) known.set(words, { is })
    return is
  }
}

interface Place {
  /** The tails by their first index; undefined for indexes that were not requested yet. */
  readonly tails: (Words | undefined)[]
  readonly at: number
}

const places = new WeakMap<Words, Place>()

/** The words from an index on: always the same array, so that results about it can be cached. */
export function tailOf(words: Words, index: number): Words {
  if (index === 0) return words
  const place = places.get(words) ?? { tails: [words], at: 0 }
  places.set(words, place)
  const { tails } = place
  const at = place.at + index
  const before = tails[at]
  if (before !== undefined) return before
  const tail = words.slice(index)
  tails[at] = tail
  places.set(tail, { tails, at })
  return tail
}

/** A cache of results for texts. It removes the oldest entry when it is full, and does not store results for texts above a maximum length. */
export class RecentTexts<R> {
  readonly #known = new Map<string, R>()
  readonly #most: number
  readonly #longest: number

  constructor(most: number, longest: number) {
    this.#most = most
    this.#longest = longest
  }

  get(text: string): R | undefined {
    return this.#known.get(text)
  }

  set(text: string, answer: R): void {
    if (text.length > this.#longest) return
    for (const oldest of this.#known.keys()) {
      if (this.#known.size < this.#most) break
      this.#known.delete(oldest)
    }
    this.#known.set(text, answer)
  }
}
