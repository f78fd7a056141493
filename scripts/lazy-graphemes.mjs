import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const own = fileURLToPath(new URL('../packages/cli/src/terminal/screen/graphemes.ts', import.meta.url))

/** The code of the library that runs when it is loaded, and the code that replaces it. */
const made = [
  ['const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });', 'lazySegmenter as segmenter'],
  [String.raw`const rgiEmojiRegex = /^\p{RGI_Emoji}$/v;`, 'lazyEmoji as rgiEmojiRegex'],
]

/** The terminal library makes its segmenter and its pattern of all emoji when it is loaded, which takes as long as all the rest of it. The bundle replaces both. */
export function lazyGraphemes() {
  return {
    name: 'lazy-graphemes',
    setup(build) {
      build.onLoad({ filter: /pi-tui[\\/]dist[\\/]utils\.js$/ }, async ({ path }) => {
        let contents = await readFile(path, 'utf8')
        for (const [theirs, ours] of made) {
          if (!contents.includes(theirs))
            throw new Error(`${path} has no "${theirs}": change scripts/lazy-graphemes.mjs.`)
          contents = contents.replace(theirs, `import { ${ours} } from ${JSON.stringify(own)};`)
        }
        return { contents }
      })
    },
  }
}
