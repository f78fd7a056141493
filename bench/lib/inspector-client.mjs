// The requests of the inspector's page to its server, for checkouts from before and after sessions came in parts.

/** @param {(what: string) => Promise<string>} ask @param {string} key */
export async function firstScreen(ask, key) {
  const view = JSON.parse(await ask(`api/session?key=${key}&beginning=1`))
  const isWhole = view.runs[0].items !== undefined
  // It requested its list, whatever it showed.
  if (isWhole) await ask('api/sessions')
  else await ask(`api/figures?key=${key}&of=items&run=0&beginning=1`)
  await ask(`api/parts?key=${key}&run=0&from=0&count=120`)
  return isWhole
}

/** @param {(what: string) => Promise<string>} ask @param {string} key @param {boolean} isWhole */
export async function everything(ask, key, isWhole) {
  if (!isWhole) {
    await ask(`api/session?key=${key}`)
    await ask(`api/figures?key=${key}&of=items&run=0`)
  }
  await ask(`api/parts?key=${key}&run=0&from=40000&count=120`)
  await ask(`api/records?key=${key}&run=0&from=50000&count=20`)
}

/** Plots and what-if. @param {(what: string) => Promise<string>} ask @param {string} key @param {boolean} isWhole */
export async function otherTabs(ask, key, isWhole) {
  if (!isWhole) for (const kind of ['points', 'trajectory']) await ask(`api/figures?key=${key}&of=${kind}&run=0`)
}
