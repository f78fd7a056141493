import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const own = fileURLToPath(new URL('../packages/cli/src/terminal/screen/graphemes.ts', import.meta.url))
const made = 'const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });'

/** The library of the terminal makes its segmenter when it is loaded, which takes as long as all the rest. In the bundle ours stands in its place. */
export function lazySegmenter() {
  return {
    name: 'lazy-segmenter',
    setup(build) {
      build.onLoad({ filter: /pi-tui[\\/]dist[\\/]utils\.js$/ }, async ({ path }) => {
        const contents = await readFile(path, 'utf8')
        if (!contents.includes(made))
          throw new Error(`${path} makes its segmenter in another way: change scripts/lazy-segmenter.mjs.`)
        return {
          contents: contents.replace(made, `import { lazySegmenter as segmenter } from ${JSON.stringify(own)};`),
        }
      })
    },
  }
}
