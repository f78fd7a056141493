import { dirname, join } from 'node:path'

/** Packages by name: the file that each becomes, and what is imported of it. Another name would be an error when the bundle is made. */
const parsers = {
  // A sixth of the code that a run would load; many runs judge no command.
  unbash: { file: 'shell-parser.cjs', names: ['parse', 'forEachChild'] },
  // Only what changes a settings file or a notebook needs it.
  'jsonc-parser': { file: 'json-parser.cjs', names: ['parse', 'parseTree'] },
}

/**
 * For a bundle that is not written at once. These parsers become files of their own, each loaded at its first call. `import()` is not possible because their callers answer
 * synchronously; `require` of a CommonJS file works on every Node.
 * @param {Readonly<Record<string, string>>} modules the module to bundle in place of a package
 */
export function lazyParser(modules = {}) {
  return {
    name: 'lazy-parser',
    setup(build) {
      const built = new Map()
      build.onResolve({ filter: /^(?:unbash|jsonc-parser)$/ }, ({ path, resolveDir }) => ({
        path,
        namespace: 'lazy',
        pluginData: resolveDir,
        sideEffects: false,
      }))
      build.onLoad({ filter: /.*/, namespace: 'lazy' }, async ({ path, pluginData: resolveDir }) => {
        const { file, names } = parsers[path]
        if (!built.has(file)) {
          const contents = `export { ${names.join(', ')} } from '${modules[path] ?? path}'`
          built.set(file, build.esbuild.build({ stdin: { contents, resolveDir }, ...lazyFile }))
        }
        await built.get(file)
        return { contents: loaderOf(file, names), resolveDir }
      })
      build.onEnd(async ({ outputFiles }) => {
        for (const [file, building] of built) {
          const [{ text }] = (await building).outputFiles
          for (const user of outputFiles.filter((output) => output.text.includes(`"./${file}"`)))
            outputFiles.push({ path: join(dirname(user.path), file), text, contents: new TextEncoder().encode(text) })
        }
      })
    },
  }
}

const lazyFile = { bundle: true, write: false, format: 'cjs', platform: 'node', target: 'node20.19' }

const loaderOf = (file, names) => `
import { createRequire as requireFrom } from 'node:module'
let parser
const whole = () => (parser ??= requireFrom(import.meta.url)("./${file}"))
${names.map((name) => `export const ${name} = (...given) => whole().${name}(...given)`).join('\n')}
`
