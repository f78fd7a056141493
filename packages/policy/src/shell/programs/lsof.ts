import { type Effect, unknown } from '../effects.ts'
import type { ShellWord } from '../words.ts'
import { lsofAsksOrTells } from '../shell-texts.ts'

const place = /^[46]?(?:TCP|UDP|tcp|udp)?(?::\d{1,5}(?:[,-]\d{1,5})*)?$/

/** The list of network connections, without asking name servers about them (`-n`). Everything else of lsof tells of files. */
export function lsofEffects(args: readonly ShellWord[]): readonly Effect[] {
  const values = args.map(({ kind, value }) => (kind === 'literal' ? value : ''))
  const isPlain = values.every((value, at) => {
    if (/^-[nPltw]+i?$/.test(value) || /^-sTCP:[A-Z_]{1,20}$/.test(value)) return true
    const [, joined] = /^-[nPltw]*i(.*)$/s.exec(value) ?? []
    if (joined !== undefined) return place.test(joined)
    return value !== '' && /^-[nPltw]*i$/.test(values[at - 1] ?? '') && place.test(value)
  })
  const isAbout = values.some((value) => /^-[nPltw]*i/.test(value))
  const isNumeric = values.some((value) => /^-[Pltw]*n/.test(value))
  return isPlain && isAbout && isNumeric ? [] : unknown(lsofAsksOrTells)
}
