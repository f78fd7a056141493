// The inspector's page runs in a browser. It imports core, the parts of analysis that read no file, the types of the view model, and the libraries in its bundle.
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'
import { report, root, sourceFiles } from './packages.mjs'

const page = 'packages/inspector/src/page/'
const libraries =
  /^(?:preact(?:\/[\w/-]+)?|@preact\/signals|uplot|@halting\/core(?:\/[a-z]+)?|@halting\/analysis(?:\/words)?)$/

/** Why the page may not import this. Undefined if it may. @param {string} path @param {string} from @param {boolean} isTypeOnly */
function problemOf(path, from, isTypeOnly) {
  if (isTypeOnly) return undefined
  if (!from.startsWith('.')) return libraries.test(from) ? undefined : `${path} imports ${from}`
  const target = posix.join(posix.dirname(path), from)
  return target.startsWith(page) ? undefined : `${path} imports ${target}`
}

let seen = 0
const problems = sourceFiles('inspector')
  .filter((path) => path.startsWith(page))
  .flatMap((path) => {
    const { module, errors } = parseSync(path, readFileSync(new URL(path, root), 'utf8'))
    if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`)
    return module.staticImports.flatMap(({ moduleRequest: { value }, entries }) => {
      seen++
      return problemOf(path, value, entries.length > 0 && entries.every(({ isType }) => isType)) ?? []
    })
  })

report('imports of the page', seen, problems)
