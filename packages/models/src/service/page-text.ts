/** How much of a page is looked at: what it says stands near its beginning. */
const longestPage = 16_384
const longestText = 200

/**
 * The first words of a page that a proxy answered with, without its tags, scripts and styles. Every character is looked
 * at a few times at most, whatever the page: it may be made to make patterns slow.
 */
export function pageText(body: string): string {
  const page = body.slice(0, longestPage)
  const finders = { tag: finder(page, '>'), script: finder(page, '</script>'), style: finder(page, '</style>') }
  let text = ''
  let isSpaced = false
  for (let index = 0; index < page.length; index++) {
    const sign = page.charAt(index)
    const end = sign === '<' ? endOfTag(page, index, finders) : -1
    if (end >= 0) {
      index = end
      isSpaced = true
    } else if (sign.trim() === '') isSpaced = true
    else {
      text += isSpaced && text !== '' ? ` ${sign}` : sign
      isSpaced = false
    }
    if (text.length > longestText) return `${text.slice(0, longestText)}…`
  }
  return text
}

/** The place of the last character of the tag, or of the script or style, that begins here; below 0 when it has no end. */
function endOfTag(
  page: string,
  index: number,
  { tag, script, style }: Readonly<Record<'tag' | 'script' | 'style', Finder>>,
): number {
  const name = page.slice(index + 1, index + 7).toLowerCase()
  const close = name === 'script' ? script(index) : name.startsWith('style') ? style(index) : -1
  return close >= 0 ? close : tag(index)
}

/** Gives the place of the last character of the next such text, below 0 when there is none. Asked in rising order. */
type Finder = (from: number) => number

function finder(page: string, text: string): Finder {
  const lower = page.toLowerCase()
  // A few letters have a longer small form.
  const searched = lower.length === page.length ? lower : page
  let next: number | undefined
  return (from) => {
    if (next === undefined || (next >= 0 && next < from)) next = searched.indexOf(text, from)
    return next < 0 ? -1 : next + text.length - 1
  }
}
