import type { Phase } from '@halting/analysis'
import type { ItemKind } from '@halting/analysis/view'
import { isDark } from './theme.ts'

/** Names of the colours in `colors.css`, where they are `--NAME`. */
export type ColorName =
  | 'paper'
  | 'box'
  | 'ink'
  | 'soft'
  | 'line'
  | 'accent'
  | 'good'
  | 'bad'
  | 'warn'
  | `kind-${ItemKind}`
  | `series-${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8}`

/** A phase has the colour of its timeline items. */
export const phaseColors = {
  model: 'kind-attempt',
  tools: 'kind-tool',
  hooks: 'kind-hook',
  compaction: 'kind-compaction',
  checks: 'kind-check',
  waiting: 'kind-wait',
  other: 'kind-other',
} satisfies Record<Phase, ColorName>

/** The colour of an ending, by its exit code: success, a limit or a person, a failure; null for a run that has not ended. */
export function endingColor(exitCode: number | null): ColorName {
  if (exitCode === null) return 'soft'
  if (exitCode === 0) return 'good'
  return exitCode === 1 ? 'bad' : 'warn'
}

const known = new Map<string, string>()

/** A colour of the current theme for a canvas. Components and effects that call it are redrawn when the theme changes. */
export function colorOf(name: ColorName): string {
  const key = `${isDark.value ? 'dark' : 'light'} ${name}`
  const found = known.get(key)
  if (found !== undefined) return found
  // The browser resolves the colour of an element, but not that of a custom property.
  const probe = document.createElement('span')
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const color = getComputedStyle(probe).color
  probe.remove()
  known.set(key, color)
  return color
}
