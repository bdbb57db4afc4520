// Elements: made, and kept while their key is there, so that focus and open details survive a sample.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {}))
        if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    element.append(...children.filter(c => c !== null && c !== undefined));
    return element;
}

export const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = id => document.getElementById(id);

// Writes only what differs, so that nothing is announced or laid out again for nothing.
export function say(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

export function set(element, name, value) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

// One child of `parent` for each item, in order: made once, updated always, removed when its item is gone.
export function each(parent, items, key, create, update) {
    const old = new Map([...parent.children].map(child => [child.dataset.key, child]));
    let at = parent.firstElementChild;
    for (const item of items) {
        const name = String(key(item));
        let child = old.get(name);
        if (!child) {
            child = create(item);
            child.dataset.key = name;
        }
        old.delete(name);
        if (child !== at) parent.insertBefore(child, at);
        else at = at.nextElementSibling;
        update(child, item);
    }
    for (const child of old.values()) child.remove();
}
