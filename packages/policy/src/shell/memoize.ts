import type { ShellWord } from './words.ts'

// What a text means does not change: what was found out about it is used again, also by later judgements. Nothing here asks a disk or the environment.

type Words = readonly ShellWord[]

/** A function of an object that is never changed: each answer is found once, and goes with the object. */
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

/** The same of two objects. */
export function memoizeByPair<A extends object, B extends object, R>(
  find: (about: A, by: B) => R,
): (about: A, by: B) => R {
  const answersOf = memoizeByObject((about: A) => memoizeByObject((by: B) => find(about, by)))
  return (about, by) => answersOf(about)(by)
}

/** The same of words, where none of them is `ps`: what that means depends on variables of the environment. */
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
  /** The words from each of them on; a place that nobody asked about is empty. */
  readonly tails: (Words | undefined)[]
  readonly at: number
}

const places = new WeakMap<Words, Place>()

/** The words from one of them on: the same list each time, also where it is asked for by a longer or a shorter one. */
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

/** Up to so many answers about texts, of which the oldest goes first. Texts that are longer are not stored. */
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
