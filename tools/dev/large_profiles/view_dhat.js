// What DHAT's viewer (dh_view.html) does with a file before it draws: node view_dhat.js DH_VIEW.JS FILE
'use strict'
const fs = require('fs'), vm = require('vm')

globalThis.document = {} // whose title the viewer sets
const [viewer, file] = process.argv.slice(2)
vm.runInThisContext(`${fs.readFileSync(viewer, 'utf8')}
  gSelect = { selectedIndex: 0, childNodes: gSelectData.map(() => ({})) }
  globalThis.view = text => {
    gData = JSON.parse(text)
    buildTree()
    return gRoot._totalBytes
  }`)
console.log(view(fs.readFileSync(file, 'utf8')))
