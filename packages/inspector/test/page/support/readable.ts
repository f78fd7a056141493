import type { Page } from 'playwright-core'

/** The elements of the page that are hard to read, each with its contrast. */
export interface LowContrast {
  /** Texts below 4.5:1 against their background; 3:1 for large ones (WCAG 1.4.3). */
  readonly texts: readonly string[]
  /** Marks and edges of fields and buttons below 3:1 (WCAG 1.4.11). */
  readonly marks: readonly string[]
}

/** Computes the contrast of everything visible that is not disabled. */
export async function lowContrastOn(page: Page): Promise<LowContrast> {
  return page.evaluate(findLowContrast)
}

// Runs in the browser, where nothing outside this function exists.
function findLowContrast(): LowContrast {
  type Color = readonly [red: number, green: number, blue: number, alpha: number]
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d', { willReadFrequently: true })
  const known = new Map<string, Color>()
  const colorOf = (css: string): Color => {
    const found = known.get(css)
    if (found !== undefined) return found
    context?.clearRect(0, 0, 1, 1)
    if (context !== null) context.fillStyle = css
    context?.fillRect(0, 0, 1, 1)
    const [red = 0, green = 0, blue = 0, alpha = 0] = context?.getImageData(0, 0, 1, 1).data ?? []
    const color: Color = [red, green, blue, alpha / 255]
    known.set(css, color)
    return color
  }
  const over = ([red, green, blue, alpha]: Color, below: Color): Color => {
    const mixed = (one: number, other: number): number => one * alpha + other * (1 - alpha)
    return [mixed(red, below[0]), mixed(green, below[1]), mixed(blue, below[2]), 1]
  }
  /** The background of an element. */
  const groundOf = (element: Element | null): Color => {
    if (element === null) return colorOf(getComputedStyle(document.documentElement).backgroundColor)
    const own = colorOf(getComputedStyle(element).backgroundColor)
    return own[3] === 1 ? own : over(own, groundOf(element.parentElement))
  }
  const luminance = ([red, green, blue]: Color): number => {
    const [r = 0, g = 0, b = 0] = [red, green, blue].map((value) => {
      const share = value / 255
      return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const contrast = (one: Color, other: Color): number => {
    const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
    return (light + 0.05) / (dark + 0.05)
  }
  const isShown = (element: Element): boolean =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    element.closest('.hidden-text, :disabled, .skip, option') === null
  const describe = (element: Element, found: number): string =>
    `${element.tagName.toLowerCase()}.${element.className} ${(element.textContent ?? '').trim().slice(0, 40)} ${found.toFixed(2)}`

  const texts = new Set<string>()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    if (element === null || (node.textContent ?? '').trim() === '' || !isShown(element)) continue
    const { color, fontSize, fontWeight } = getComputedStyle(element)
    const size = Number.parseFloat(fontSize)
    const least = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700) ? 3 : 4.5
    const ground = groundOf(element)
    const found = contrast(over(colorOf(color), ground), ground)
    if (found < least) texts.add(describe(element, found))
  }
  for (const field of document.querySelectorAll('input[placeholder]')) {
    if (!isShown(field)) continue
    const found = contrast(colorOf(getComputedStyle(field, '::placeholder').color), groundOf(field))
    if (found < 4.5) texts.add(`placeholder ${field.getAttribute('placeholder') ?? ''} ${found.toFixed(2)}`)
  }
  const marks = new Set<string>()
  for (const mark of document.querySelectorAll(
    '.swatch:not(.wrong), .plot-color, .mark, .column > span, .bar-track > span, .meter > span',
  )) {
    if (!isShown(mark) || mark.getBoundingClientRect().width === 0) continue
    const found = contrast(groundOf(mark), groundOf(mark.parentElement))
    if (found < 3) marks.add(describe(mark, found))
  }
  for (const control of document.querySelectorAll('button, select, input, .choice > summary')) {
    const { borderTopColor, borderTopWidth, borderTopStyle } = getComputedStyle(control)
    const isEdged = Number.parseFloat(borderTopWidth) > 0 && borderTopStyle !== 'none'
    const isOwnLook = /^(?:checkbox|range)$/.test(control.getAttribute('type') ?? '')
    if (!isShown(control) || !isEdged || isOwnLook || colorOf(borderTopColor)[3] === 0) continue
    const found = contrast(colorOf(borderTopColor), groundOf(control.parentElement))
    if (found < 3) marks.add(describe(control, found))
  }
  return { texts: [...texts], marks: [...marks] }
}

/** The names of canvas colours whose contrast against the page is too low. */
export async function lowContrastColors(page: Page): Promise<readonly string[]> {
  const names = await page.evaluate(() => {
    const found = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
    const root = found.find((rule) => rule instanceof CSSStyleRule && rule.selectorText === ':root')
    return root instanceof CSSStyleRule ? [...root.style].filter((name) => name.startsWith('--')) : []
  })
  const marks = names.filter((name) => /^--(?:kind-|series-|accent|good|bad|warn|soft|ink)/.test(name))
  // The label of a timeline bar has the colour of the page.
  const texts = names.filter((name) => /^--(?:kind-(?!lap|control|ending)|soft|ink)/.test(name))
  return page.evaluate(
    ({ marks: all, texts: written }) => {
      const canvas = document.createElement('canvas')
      const context = canvas.getContext('2d', { willReadFrequently: true })
      const luminance = (name: string): number => {
        const probe = document.createElement('span')
        probe.style.color = `var(${name})`
        document.body.append(probe)
        const { color } = getComputedStyle(probe)
        probe.remove()
        if (context !== null) context.fillStyle = color
        context?.fillRect(0, 0, 1, 1)
        const [r = 0, g = 0, b = 0] = [...(context?.getImageData(0, 0, 1, 1).data ?? [])].map((value) => {
          const share = value / 255
          return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
        })
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
      }
      const contrast = (one: string, other: string): number => {
        const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
        return (light + 0.05) / (dark + 0.05)
      }
      const below = (names_: readonly string[], ground: string, least: number): readonly string[] =>
        names_.flatMap((name) => {
          const found = contrast(name, ground)
          return found < least ? [`${name} on ${ground} ${found.toFixed(2)}`] : []
        })
      return [...below(all, '--paper', 3), ...below(all, '--box', 3), ...below(written, '--paper', 4.5)]
    },
    { marks, texts },
  )
}

/** Elements that cannot be reached on a page this narrow: focusable or clickable ones outside its width. */
export async function unreachableElements(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth
    const found = [...document.querySelectorAll('a, button, input, select, summary, [tabindex="0"]')].filter(
      (element) => element.checkVisibility() && element.closest('.hidden-text, .skip, dialog:not([open])') === null,
    )
    return found.flatMap((element) => {
      const { left, right, width: wide, height } = element.getBoundingClientRect()
      // Scrollable elements bring their content into view.
      const scrolls = (element.parentElement?.closest('.table-place') ?? null) !== null
      const isThere = left >= -0.5 && right <= width + 0.5 && wide > 0 && height > 0
      return isThere || scrolls
        ? []
        : [`${element.tagName} ${element.className} ${element.textContent} ${left} ${right}`]
    })
  })
}
