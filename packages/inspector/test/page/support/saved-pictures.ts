import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'

/** Clicks the button that saves this view and returns the file. */
export async function savePicture(page: Page, name: string, kind: 'SVG' | 'PNG'): Promise<Buffer> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: `Save ${name} as ${kind}`, exact: true }).click(),
  ])
  return readFile(await download.path())
}

/** The names of all views that can currently be saved. */
export async function savableNames(page: Page): Promise<readonly string[]> {
  const labels = await page
    .getByRole('button', { name: /^Save .* as SVG$/ })
    .evaluateAll((buttons) => buttons.map((button) => button.getAttribute('aria-label') ?? ''))
  return labels.map((label) => label.replace(/^Save (.*) as SVG$/, '$1'))
}

/** The content of a picture as a browser renders it. */
export interface RenderedPicture {
  /** Forbidden content: parse errors, scripts, and external resources. */
  readonly forbidden: readonly string[]
  /** Texts that extend beyond the picture, and pairs of overlapping texts. */
  readonly cut: readonly string[]
  readonly overlapping: readonly string[]
  /** Texts that are hard to read on their background, with their contrast. */
  readonly pale: readonly string[]
  readonly texts: readonly string[]
}

/** Has the browser of a page render a picture, and checks each text at its final position. */
export async function renderPicture(page: Page, svg: Buffer): Promise<RenderedPicture> {
  return page.evaluate(inspectPicture, svg.toString())
}

// Runs in the browser, where nothing outside this function exists.
function inspectPicture(source: string): RenderedPicture {
  const parsed = new DOMParser().parseFromString(source, 'image/svg+xml')
  const forbidden = [...parsed.querySelectorAll('*')].flatMap((element) => {
    const name = element.tagName
    const known = /^(?:svg|title|rect|polyline|polygon|circle|text|clipPath|g)$/.test(name)
    const attributes = [...element.attributes].filter(
      ({ name: each, value }) => /^on|href$|^style$|^src$/i.test(each) || /url\((?!#)|script:/i.test(value),
    )
    return [...(known ? [] : [name]), ...attributes.map((each) => `${name} ${each.name}`)]
  })
  const place = document.createElement('div')
  place.style.cssText = 'position: absolute; left: 0; top: 0; z-index: 9'
  place.append(document.importNode(parsed.documentElement, true))
  document.body.append(place)
  const root = place.firstElementChild
  if (!(root instanceof SVGSVGElement))
    return { forbidden: ['no picture'], cut: [], overlapping: [], pale: [], texts: [] }
  const whole = root.getBoundingClientRect()
  const texts = [...root.querySelectorAll('text')].filter(({ textContent }) => textContent.trim() !== '')
  const boxes = texts.map((text) => ({ text, box: text.getBoundingClientRect(), said: text.textContent }))
  const cut = boxes.flatMap(({ box, said }) =>
    box.left < whole.left || box.top < whole.top || box.right > whole.right || box.bottom > whole.bottom ? [said] : [],
  )
  const overlapping: string[] = []
  for (const [index, one] of boxes.entries())
    for (const other of boxes.slice(index + 1)) {
      const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left)
      const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top)
      if (wide > 1 && high > 1) overlapping.push(`${one.said} | ${other.said}`)
    }
  const luminance = (color: string): number => {
    const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((value) => {
      const share = Number(value) / 255
      return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (one: string, other: string): number => {
    const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
    return (light + 0.05) / (dark + 0.05)
  }
  const all = [...root.querySelectorAll<SVGElement>('rect, polygon, text')].filter(
    (element) => element.closest('clipPath') === null,
  )
  const pale = boxes.flatMap(({ text, said }) => {
    // Elements with an outline are readable on any background.
    if (text.hasAttribute('stroke')) return []
    const inner = text.getBBox()
    const turned = text.getAttribute('transform') !== null
    const middle = root.createSVGPoint()
    middle.x = turned ? Number(text.getAttribute('x')) : inner.x + inner.width / 2
    middle.y = turned ? Number(text.getAttribute('y')) : inner.y + inner.height / 2
    const under = all
      .slice(0, all.indexOf(text))
      .findLast((shape) => shape instanceof SVGGeometryElement && shape.isPointInFill(middle))
    const found = contrast(getComputedStyle(text).fill, under === undefined ? '' : getComputedStyle(under).fill)
    return found < 4.5 ? [`${said} ${found.toFixed(2)}`] : []
  })
  place.remove()
  return { forbidden, cut, overlapping, pale, texts: boxes.map(({ said }) => said) }
}
