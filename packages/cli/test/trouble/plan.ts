// The plan of a random session, by its seed: it decides what the service answers and what is true at the end.

/** One step of the main conversation: one reply of the model. */
export type Step =
  | { readonly kind: 'write' | 'read' | 'edit' | 'bash'; readonly file: string; readonly mark: string }
  /** `isFatal`: the server dies before it answers. */
  | { readonly kind: 'server'; readonly mark: string; readonly isFatal: boolean }
  | { readonly kind: 'agents'; readonly marks: readonly string[] }

export interface Plan {
  /** Part of its prompt, and of everything that belongs to it. */
  readonly name: string
  /** Two plans have folders that differ in one character. */
  readonly folder: string
  readonly steps: readonly Step[]
  /** Processes are killed. */
  readonly kills: number
  /** The wall clock jumps back and forth. */
  readonly jumps: boolean
}

/** Numbers below a bound, always the same for a seed. */
export function randomOf(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

export function planOf(seed: number): Plan {
  const random = randomOf(seed)
  const pair = Math.floor(seed / 2)
  const name = `s${seed}x`
  const steps: Step[] = []
  const files: string[] = []
  const count = 3 + random(5)
  while (steps.length < count) {
    const mark = `${name}-${steps.length}`
    const known = files[random(Math.max(1, files.length))]
    switch (random(6)) {
      case 0:
      case 1:
        if (known === undefined) {
          files.push(`f${files.length}.txt`)
          steps.push({ kind: 'write', file: `f${files.length - 1}.txt`, mark })
        } else steps.push({ kind: 'read', file: known, mark }, { kind: 'edit', file: known, mark })
        break
      case 2:
        steps.push({ kind: 'bash', file: 'log.txt', mark })
        break
      case 3:
        steps.push({ kind: 'server', mark, isFatal: random(2) === 0 })
        break
      case 4:
        steps.push({ kind: 'agents', marks: Array.from({ length: 2 + random(3) }, (_, at) => `${mark}-agent${at}`) })
        break
      default:
        files.push(`f${files.length}.txt`)
        steps.push({ kind: 'write', file: `f${files.length - 1}.txt`, mark })
    }
  }
  // Cyrillic for every fourth pair, since sanitized names would replace all of its letters by the same character.
  const folder = pair % 4 === 3 ? `папка${seed % 2 === 0 ? 'а' : 'б'}${pair}` : `p${seed % 2 === 0 ? '_' : '-'}${pair}`
  return {
    name,
    folder,
    steps,
    kills: random(3) === 0 ? 0 : 1 + random(5),
    jumps: random(2) === 0,
  }
}
