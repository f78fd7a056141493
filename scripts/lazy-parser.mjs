import { dirname, join } from 'node:path'

const file = 'shell-parser.cjs'

/**
 * For a bundle that is not written at once. The parser of shell commands becomes a file of its own, loaded when the first command is judged. It is a sixth of the code that a run
 * would load, and many runs judge no command. `import()` is not possible because rules answer synchronously; `require` of a CommonJS file works on every Node.
 */
export function lazyParser() {
  return {
    name: 'lazy-parser',
    setup(build) {
      let parser
      build.onResolve({ filter: /^unbash$/ }, ({ path, resolveDir }) => ({
        path,
        namespace: 'lazy',
        pluginData: resolveDir,
        sideEffects: false,
      }))
      build.onLoad({ filter: /.*/, namespace: 'lazy' }, async ({ pluginData: resolveDir }) => {
        parser ??= build.esbuild.build({
          stdin: { contents: `export { ${names.join(', ')} } from 'unbash'`, resolveDir },
          bundle: true,
          write: false,
          format: 'cjs',
          platform: 'node',
          target: 'node20.19',
        })
        await parser
        return { contents: loader, resolveDir }
      })
      build.onEnd(async ({ outputFiles }) => {
        if (parser === undefined) return
        const [{ text }] = (await parser).outputFiles
        for (const user of outputFiles.filter((output) => output.text.includes(`"./${file}"`)))
          outputFiles.push({ path: join(dirname(user.path), file), text, contents: new TextEncoder().encode(text) })
      })
    },
  }
}

/** The names that are imported from it. Another name would be an error when the bundle is made. */
const names = ['parse', 'forEachChild']

const loader = `
import { createRequire as requireFrom } from 'node:module'
let parser
const whole = () => (parser ??= requireFrom(import.meta.url)("./${file}"))
${names.map((name) => `export const ${name} = (...given) => whole().${name}(...given)`).join('\n')}
`
