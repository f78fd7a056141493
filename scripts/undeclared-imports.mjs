// Finds imports that a packed package does not declare. In the workspace, and if packages are installed together, such an import is found. It is not found if the package is
// installed alone.
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { parseSync } from 'oxc-parser'
import { entriesOf, manifestOf, root } from './packages.mjs'

/**
 * A sentence for each import of the packed files that no dependency in package.json provides, or that is not an entry of the package that it names.
 * @param {string} name folder of the package @param {readonly string[]} files what is packed
 * @returns {string[]}
 */
export function undeclaredImports(name, files) {
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {}, name: id } = manifestOf(name)
  const isOptional = (each) => peerDependenciesMeta[each]?.optional === true
  const required = new Set([
    ...Object.keys(dependencies),
    ...Object.keys(peerDependencies).filter((each) => !isOptional(each)),
  ])
  const declared = new Set([...required, ...Object.keys(peerDependencies)])
  const seen = new Set()
  for (const path of files.filter(
    (file) => /^(?:bin|dist)\/.*\.(?:js|d\.ts)$/.test(file) && !/^dist\/(?:page|inspector)\//.test(file),
  ))
    for (const { specifier, isStatic } of importsOf(new URL(`packages/${name}/${path}`, root))) {
      const found = packageOf(specifier)
      // A static import must be installed for the file to load; types and import() may wait for an optional package.
      const isDeclared = (isStatic && path.endsWith('.js') ? required : declared).has(found)
      if (!isDeclared)
        seen.add(
          `${id}: ${path} imports ${specifier}, and package.json does not ${declared.has(found) ? 'require' : 'declare'} it`,
        )
      else if (found.startsWith('@halting/') && !specifiersOf(found).has(specifier))
        seen.add(`${id}: ${path} imports ${specifier}, which is no entry of ${found}`)
    }
  return [...seen]
}

/** @returns {{ specifier: string, isStatic: boolean }[]} */
function importsOf(file) {
  const text = readFileSync(file, 'utf8')
  const { module, errors } = parseSync(file.pathname, text)
  if (errors.length > 0) throw new Error(`${file.pathname}: ${errors[0].message}`)
  const staticOnes = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
  ]
  const written = module.dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start, end))
  // `import('x')` in a type is not an expression. An import() of a name that is made at run time is not detected here.
  const typed = file.pathname.endsWith('.d.ts')
    ? [...text.matchAll(/\bimport\(("[^"]*")\)/g)].map(([, literal]) => literal)
    : []
  const later = [...written, ...typed].flatMap((literal) => /^(["'])(.*)\1$/.exec(literal)?.[2] ?? [])
  return [
    ...staticOnes.map((specifier) => ({ specifier, isStatic: true })),
    ...later.map((specifier) => ({ specifier, isStatic: false })),
  ].filter(({ specifier }) => !specifier.startsWith('.') && !isBuiltin(specifier))
}

function packageOf(specifier) {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function specifiersOf(id) {
  return new Set(entriesOf(id.replace('@halting/', '')).map(({ specifier }) => specifier))
}
