import { computed, signal, type ReadonlySignal } from '@preact/signals'

/** `auto` follows the system. */
export const themes = ['auto', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const chosen = signal<Theme>('auto')
const systemIsDark = signal(false)

/** What a person chose. */
export const theme: ReadonlySignal<Theme> = chosen

/** What is seen: what draws on a canvas reads it to draw anew. */
export const isDark: ReadonlySignal<boolean> = computed(() =>
  chosen.value === 'auto' ? systemIsDark.value : chosen.value === 'dark',
)

const place = 'halting-inspector-theme'

/** Takes what was chosen last time, and follows the system from now on. */
export function followTheme(): void {
  const query = matchMedia('(prefers-color-scheme: dark)')
  systemIsDark.value = query.matches
  query.addEventListener('change', ({ matches }) => (systemIsDark.value = matches))
  setTheme(themes.find((each) => each === kept()) ?? 'auto')
}

export function setTheme(next: Theme): void {
  chosen.value = next
  if (next === 'auto') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = next
  try {
    localStorage.setItem(place, next)
  } catch {
    // A page from disk may have no storage: then it is chosen anew.
  }
}

function kept(): string | null {
  try {
    return localStorage.getItem(place)
  } catch {
    return null
  }
}
