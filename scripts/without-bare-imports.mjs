/**
 * Removes imports that only load a file (`import "./chunk.js"`) from the files of a bundle. The bundler writes one wherever a package's index leads past code that the file does
 * not use. The packages declare that loading them has no effects (`sideEffects`), so such a line would only cost time, and bundlers warn of it. Returns the texts of the files.
 */
export function withoutBareImports(outputFiles) {
  return outputFiles.map(({ path, text }) => ({
    path,
    contents: text.replaceAll(/^import "\.{1,2}\/(?:chunks\/)?[\w-]+\.js";\n/gm, ''),
  }))
}
