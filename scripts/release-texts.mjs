// What a release writes: package.json files and the changelog.

// The grammar of Semantic Versioning, without build metadata: npm refuses other versions, or writes them differently.
const number = String.raw`(?:0|[1-9]\d*)`
const identifier = String.raw`(?:${number}|\d*[a-z-][\da-z-]*)`
const versionForm = new RegExp(
  String.raw`^(${number})\.(${number})\.(${number})(?:-(${identifier}(?:\.${identifier})*))?$`,
  'i',
)

/** @param {string | undefined} address @returns {{ type: 'git', url: string }} @throws Error if it is not the address of a repository. */
export function repositoryOf(address) {
  const hint = 'such as --repository https://forge.example/you/halting'
  if (address === undefined)
    throw new Error(`Name the repository that npm shows and provenance is checked against, ${hint}.`)
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url?.protocol !== 'https:' || !/^\/[^/]+\/[^/]+/.test(url.pathname))
    throw new Error(`${address} is not the https address of a repository. Write it ${hint}.`)
  if (url.username !== '' || url.password !== '')
    throw new Error('The address of the repository must not hold a password.')
  return { type: 'git', url: `git+https://${url.host}${url.pathname.replace(/(?:\.git)?\/?$/, '')}.git` }
}

/** @param {string} version @param {string} before @throws Error if it is not a version, or not above the other one. */
export function isNewer(version, before) {
  const [next, last] = [versionForm.exec(version), versionForm.exec(before)]
  if (next === null || !next.slice(1, 4).every((part) => Number.isSafeInteger(Number(part))))
    throw new Error(`${version} is not a version. Write three numbers, such as 0.2.0 or 1.0.0-beta.1.`)
  for (const part of [1, 2, 3]) {
    const [one, other] = [Number(next[part]), Number(last[part])]
    if (one > other) return
    if (one < other) throw new Error(`${version} is not above ${before}. Versions only rise.`)
  }
  // A prerelease is below its release.
  const [one, other] = [next[4], last[4]]
  const rises = other !== undefined && (one === undefined || one.localeCompare(other, 'en', { numeric: true }) > 0)
  if (!rises) throw new Error(`${version} is not above ${before}. Versions only rise.`)
}

/**
 * The npm parameters that publish a package. npm demands a tag for a prerelease, which `npm install` must not install by default.
 * @param {string} name The folder of the package. @param {string} version @returns {readonly string[]}
 */
export function publishCommand(name, version) {
  const tag = version.includes('-') ? ['--tag', 'next'] : []
  return ['publish', `--workspace=packages/${name}`, '--access', 'public', ...tag]
}

const dependencyFields = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']

/**
 * A package.json with this version, also for dependencies on packages of this repository.
 * @param {{ readonly [field: string]: unknown }} manifest
 * @param {{ readonly version: string, readonly own: ReadonlySet<string>, readonly repository: object | undefined }} release
 */
export function manifestFor(manifest, { version, own, repository }) {
  const made = {}
  for (const [field, value] of Object.entries(manifest)) {
    if (field === 'repository') continue
    if (field === 'version') {
      made.version = version
      continue
    }
    made[field] = dependencyFields.includes(field)
      ? Object.fromEntries(Object.entries(value).map(([name, range]) => [name, own.has(name) ? version : range]))
      : value
    if (field === 'license' && repository !== undefined) made.repository = repository
  }
  return made
}

/**
 * The changelog with the unreleased entries under the heading of this version, and an empty `Unreleased` above.
 * @param {string} changelog @param {string} version @param {string} date @throws Error if there are no unreleased entries.
 */
export function releasedChangelog(changelog, version, date) {
  const unreleased = '## [Unreleased]\n'
  const [start, heading] = [changelog.indexOf(unreleased), `## [${version}] - ${date}`]
  if (start < 0) throw new Error('CHANGELOG.md has no heading "## [Unreleased]".')
  if (changelog.includes(`\n## [${version}]`)) throw new Error(`CHANGELOG.md has an entry of ${version} already.`)
  const rest = changelog.slice(start + unreleased.length)
  const end = rest.search(/^## \[/m)
  const entries = (end < 0 ? rest : rest.slice(0, end)).trim()
  if (!/^- /m.test(entries))
    throw new Error('CHANGELOG.md says nothing under "## [Unreleased]". Say what users will notice.')
  const summary = [...entries.matchAll(/^### (.*)$([^]*?)(?=^### |$(?![^]))/gm)].map(
    ([, kind, lines]) => `${kind}: ${lines.match(/^- /gm)?.length ?? 0}`,
  )
  const older = end < 0 ? '' : `\n${rest.slice(end)}`
  const text = `${changelog.slice(0, start)}${unreleased}\n${heading}\n\n${entries}\n${older}`
  return { text, heading, summary: summary.join(', ') }
}
