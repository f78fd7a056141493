import { computed, signal, type ReadonlySignal } from '@preact/signals'

/** `auto` follows the operating system. */
export const themes = ['auto', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const chosen = signal<Theme>('auto')
const systemIsDark = signal(false)

/** The selected theme. */
export const theme: ReadonlySignal<Theme> = chosen

/** Whether the page is dark now: drawing code reads it, so that canvases are redrawn. */
export const isDark: ReadonlySignal<boolean> = computed(() =>
  chosen.value === 'auto' ? systemIsDark.value : chosen.value === 'dark',
)

const place = 'halting-inspector-theme'

/** Applies the stored theme, and follows the operating system from now on. */
export function followTheme(): void {
  const query = matchMedia('(prefers-color-scheme: dark)')
  systemIsDark.value = query.matches
  query.addEventListener('change', ({ matches }) => (systemIsDark.value = matches))
  setTheme(themes.find((each) => each === storedTheme()) ?? 'auto')
}

export function setTheme(next: Theme): void {
  chosen.value = next
  if (next === 'auto') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = next
  try {
    localStorage.setItem(place, next)
  } catch {
    // A page from disk may have no storage; the choice is then not stored.
  }
}

function storedTheme(): string | null {
  try {
    return localStorage.getItem(place)
  } catch {
    return null
  }
}
