//: a built-in prototype is changed
let r; try { Array.prototype.extra = 1; r = [].extra; delete Array.prototype.extra } catch (e) { r = e.name } out(r)
//: a built-in method is replaced
let r; const old = String.prototype.trim; try { String.prototype.trim = () => 'x'; r = ' a '.trim(); String.prototype.trim = old } catch (e) { r = e.name } out(r)
//: a built-in global is replaced
let r; const old = globalThis.parseInt; try { parseInt = () => 7; r = parseInt('1'); globalThis.parseInt = old } catch (e) { r = e.name } out(r)
//: whether built-ins are frozen
out(Object.isFrozen(Array.prototype), Object.isFrozen(Math), Object.isExtensible(Object.prototype))
//: descriptors of prototypes that are assigned over
const d = Object.getOwnPropertyDescriptor(Object.prototype, 'toString'); out('value' in d, typeof d.get)
//: descriptors of other built-ins
const d = Object.getOwnPropertyDescriptor(Array.prototype, 'map'); out('value' in d, d.writable, d.configurable)
//: the text of Function and eval
out(/native code/.test(String(Function)), /native code/.test(String(eval)))
//: eval sees the scope around it
const near = 5; let r; try { r = eval('near') } catch (e) { r = e.name } out(r)
//: eval is sloppy unless it says otherwise
let r; try { r = (0, eval)('undeclared_in_eval = 1; delete globalThis.undeclared_in_eval') } catch (e) { r = e.name } out(r)
//: prepareStackTrace
let r; try { Error.prepareStackTrace = () => 'mine'; r = new Error('x').stack === 'mine'; Error.prepareStackTrace = undefined } catch (e) { r = e.name } out(r)
//: any method of an array is assigned over
const a = []; let r; try { a.push = 2; r = a.push } catch (e) { r = e.name } out(r)
//: any method of a text object is assigned over
const t = new String('x'); let r; try { t.trim = 2; r = t.trim } catch (e) { r = e.name } out(r)
