#pragma once
namespace dynet::ops { void install_simd_rules(); }
