import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const own = fileURLToPath(new URL('../packages/cli/src/terminal/screen/graphemes.ts', import.meta.url))

/** What the library makes when it is loaded, and what stands in its place. */
const made = [
  ['const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });', 'lazySegmenter as segmenter'],
  [String.raw`const rgiEmojiRegex = /^\p{RGI_Emoji}$/v;`, 'lazyEmoji as rgiEmojiRegex'],
]

/** The library of the terminal makes its segmenter and its pattern of all emoji when it is loaded: that takes as long as all the rest of it. In the bundle ours stand in their place. */
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
